package figures

import (
	"fmt"
	"image/color"
	"math"

	"golang.org/x/image/font"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// addLines draws every series as its median, with the middle of the seeds as a band around it.
func (p *Panel) addLines(pl *plot.Plot) error {
	for i := range p.Series {
		if p.Series[i].Dashed {
			continue
		}
		band, err := p.Series[i].band()
		if err != nil {
			return fmt.Errorf("band of %s: %w", p.Series[i].Name, err)
		}
		pl.Add(band)
	}
	for i := range p.Series {
		pl.Add(curve{&p.Series[i]})
	}
	return nil
}

func (s *Series) band() (*plotter.Polygon, error) {
	var edge plotter.XYs
	for _, pt := range s.Points {
		edge = append(edge, plotter.XY{X: pt.X, Y: pt.Seen.High})
	}
	for i := len(s.Points) - 1; i >= 0; i-- {
		edge = append(edge, plotter.XY{X: s.Points[i].X, Y: s.Points[i].Seen.Low})
	}
	band, err := plotter.NewPolygon(edge)
	if err != nil {
		return nil, err
	}
	band.Color, band.Width = faint(colorOf(s)), 0
	return band, nil
}

// curve is a plotter of the median, the closed form and the published values of a series.
type curve struct{ *Series }

// Plot implements plot.Plotter.
func (s curve) Plot(c draw.Canvas, pl *plot.Plot) {
	x, y := pl.Transforms(&c)
	var median, theory []vg.Point
	for _, pt := range s.Points {
		median = append(median, vg.Point{X: x(pt.X), Y: y(pt.Seen.Median)})
		if !math.IsNaN(pt.Theory) {
			theory = append(theory, vg.Point{X: x(pt.X), Y: y(pt.Theory)})
		}
	}
	c.StrokeLines(s.stroke(), median)
	if !s.Dashed {
		for _, at := range median {
			c.DrawGlyph(draw.GlyphStyle{Color: colorOf(s.Series), Radius: 2.2, Shape: draw.CircleGlyph{}}, at)
		}
	}
	c.StrokeLines(theoryLine, theory)
	for _, pt := range s.Points {
		if !math.IsNaN(pt.Published) {
			drawPublished(c, vg.Point{X: x(pt.X), Y: y(pt.Published)})
		}
	}
}

func (s *Series) stroke() draw.LineStyle {
	style := draw.LineStyle{Color: colorOf(s), Width: 1.8}
	if s.Dashed {
		style.Dashes = []vg.Length{6, 4}
	}
	return style
}

var (
	theoryLine = draw.LineStyle{Color: ink, Width: 0.9, Dashes: []vg.Length{3, 2.5}}
	whisker    = draw.LineStyle{Color: ink, Width: 0.8}
)

// drawPublished marks a value of the primer: a diamond, white inside.
func drawPublished(c draw.Canvas, at vg.Point) {
	const r = 4.2
	corners := []vg.Point{{X: at.X, Y: at.Y + r}, {X: at.X + r, Y: at.Y}, {X: at.X, Y: at.Y - r}, {X: at.X - r, Y: at.Y}}
	c.FillPolygon(color.White, corners)
	c.StrokeLines(draw.LineStyle{Color: ink, Width: 1.3}, append(corners, corners[0]))
}

// addBars draws a group of bars for every category, one for each series.
func (p *Panel) addBars(pl *plot.Plot) {
	for i := range p.Series {
		pl.Add(bars{series: &p.Series[i], place: i, of: len(p.Series), written: len(p.Series)*len(p.Categories) <= 6})
	}
	ticks := make([]plot.Tick, len(p.Categories))
	for i, name := range p.Categories {
		ticks[i] = plot.Tick{Value: float64(i), Label: name}
	}
	pl.X.Tick.Marker, pl.X.Tick.Width, pl.X.Tick.Length = plot.ConstantTicks(ticks), 0, 3
	pl.X.Tick.Label.YAlign -= .4 // a little below the axis
	if len(p.Categories) > 4 {   // long names of many categories need room
		pl.X.Tick.Label.Rotation = math.Pi / 5
		pl.X.Tick.Label.XAlign, pl.X.Tick.Label.YAlign = draw.XRight-.05, draw.YCenter-.3
	}
}

// bars is a plotter of one series in groups of several.
type bars struct {
	series    *Series
	place, of int
	written   bool // the median above each bar
}

// Plot implements plot.Plotter.
func (b bars) Plot(c draw.Canvas, pl *plot.Plot) {
	x, y := pl.Transforms(&c)
	width := .78 / float64(b.of)
	for _, pt := range b.series.Points {
		from := pt.X - .39 + float64(b.place)*width
		left, right := x(from+.04*width), x(from+.96*width)
		middle := (left + right) / 2
		top, floor := y(pt.Seen.Median), y(pl.Y.Min)
		c.FillPolygon(colorOf(b.series), []vg.Point{{X: left, Y: floor}, {X: right, Y: floor}, {X: right, Y: top}, {X: left, Y: top}})
		if pt.Seen.Low < pt.Seen.High {
			drawRange(c, middle, y(pt.Seen.Low), y(pt.Seen.High))
		}
		if !math.IsNaN(pt.Theory) {
			c.StrokeLines(theoryLine, []vg.Point{{X: left - 2, Y: y(pt.Theory)}, {X: right + 2, Y: y(pt.Theory)}})
		}
		if !math.IsNaN(pt.Published) {
			drawPublished(c, vg.Point{X: middle, Y: y(pt.Published)})
		}
		if b.written {
			write(c, middle, floor, top, number(pt.Seen.Median))
		}
	}
}

// write puts words at the foot of a bar, or above it when it is too low for them.
func write(c draw.Canvas, x, floor, top vg.Length, words string) {
	const room, margin = 14, 4
	style := text.Style{
		Font: sans(8.5, font.WeightBold), Color: color.White, Handler: plot.DefaultTextHandler,
		XAlign: text.XCenter, YAlign: text.YBottom,
	}
	if top-floor < room {
		style.Color, floor = ink, top
	}
	c.FillText(style, vg.Point{X: x, Y: floor + margin}, words)
}

func drawRange(c draw.Canvas, x, low, high vg.Length) {
	c.StrokeLine2(whisker, x, low, x, high)
	for _, y := range []vg.Length{low, high} {
		c.StrokeLine2(whisker, x-2.5, y, x+2.5, y)
	}
}
