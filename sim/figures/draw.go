package figures

import (
	"bytes"
	"fmt"
	"image/color"
	"io"
	"math"

	"golang.org/x/image/font"
	"gonum.org/v1/plot"
	plotfont "gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"
)

// Sizes of a drawing.
const (
	panelWidth  = 3.6 * vg.Inch // when there are several; a single one has half as much again
	panelHeight = 3.6 * vg.Inch
	legendWidth = 2.0 * vg.Inch
	headHeight  = 0.5 * vg.Inch // for the title of a panel and what its vertical axis says
	gap         = 0.2 * vg.Inch
	resolution  = 144 // dots per inch of a PNG
)

// palette is by Okabe and Ito: distinct to all eyes.
var palette = []color.NRGBA{
	{0xD5, 0x5E, 0x00, 255}, // FCFS
	{0x00, 0x72, 0xB2, 255}, // c-mu
	{0x00, 0x9E, 0x73, 255}, // WSPT
	{0xCC, 0x79, 0xA7, 255}, // processor sharing, ageing
	{0xE6, 0x9F, 0x00, 255}, // SRPT
}

func colorOf(s *Series) color.NRGBA { return palette[s.Color%len(palette)] }

// faint returns c for the area between two lines.
func faint(c color.NRGBA) color.NRGBA { c.A = 48; return c }

// ink is for what is neither a series nor the frame.
var ink = color.NRGBA{0x20, 0x20, 0x20, 255}

func sans(size vg.Length, weight font.Weight) plotfont.Font {
	return plotfont.Font{Typeface: "Liberation", Variant: "Sans", Size: size, Weight: weight}
}

// size returns the width and height of the drawing of f.
func (f *Figure) size() (w, h vg.Length) {
	return f.panelWidth()*vg.Length(len(f.Panels)) + legendWidth + 2*gap, panelHeight + 2*gap
}

func (f *Figure) panelWidth() vg.Length {
	if len(f.Panels) == 1 {
		return 1.5 * panelWidth
	}
	return panelWidth
}

// SVG writes the drawing of f as SVG.
func (f *Figure) SVG(w io.Writer) error {
	canvas := vgsvg.NewWith(vgsvg.UseWH(f.size()))
	if err := f.draw(draw.New(canvas)); err != nil {
		return err
	}
	var b bytes.Buffer
	if _, err := canvas.WriteTo(&b); err != nil {
		return fmt.Errorf("write %s as SVG: %w", f.ID, err)
	}
	// Fonts are not part of the file: name those that have the same widths and are likely to be there.
	svg := bytes.ReplaceAll(b.Bytes(), []byte("font-family:Liberation Sans;"), []byte("font-family:Liberation Sans,Arial,Helvetica,sans-serif;"))
	_, err := w.Write(svg)
	return err
}

// PNG writes the drawing of f as PNG.
func (f *Figure) PNG(w io.Writer) error {
	canvas := vgimg.NewWith(vgimg.UseWH(f.size()), vgimg.UseDPI(resolution))
	if err := f.draw(draw.New(canvas)); err != nil {
		return err
	}
	if _, err := (vgimg.PngCanvas{Canvas: canvas}).WriteTo(w); err != nil {
		return fmt.Errorf("write %s as PNG: %w", f.ID, err)
	}
	return nil
}

// draw puts the panels side by side, and the legend to the right of them, where it covers nothing.
func (f *Figure) draw(c draw.Canvas) error {
	c.SetColor(color.White)
	c.Fill(c.Path())
	width, total := f.panelWidth(), c.Max.X-c.Min.X
	for i := range f.Panels {
		p, err := f.Panels[i].plot()
		if err != nil {
			return fmt.Errorf("draw panel %d of %s: %w", i+1, f.ID, err)
		}
		left := gap + vg.Length(i)*width
		area := draw.Crop(c, left, left+width-gap-total, gap, -gap)
		f.Panels[i].head(area)
		p.Draw(draw.Crop(area, 0, 0, 0, -headHeight))
	}
	legend := f.legend()
	legend.Draw(draw.Crop(c, total-legendWidth, -gap/2, gap, -1.5*gap))
	return nil
}

// head writes the title, and below it what the vertical axis says, where nobody has to turn the head.
func (p *Panel) head(c draw.Canvas) {
	style := text.Style{Font: sans(11, font.WeightBold), Color: ink, Handler: plot.DefaultTextHandler, YAlign: text.YTop}
	top := c.Max.Y
	if p.Title != "" {
		c.FillText(style, vg.Point{X: c.Min.X, Y: top}, p.Title)
		top -= 16
	}
	style.Font = sans(10, font.WeightNormal)
	c.FillText(style, vg.Point{X: c.Min.X, Y: top}, p.Y)
}

// plot lays out the axes of p and adds what is drawn.
func (p *Panel) plot() (*plot.Plot, error) {
	pl := plot.New()
	pl.X.Label.Text = p.X
	for _, axis := range []*plot.Axis{&pl.X, &pl.Y} {
		axis.Label.TextStyle.Font, axis.Label.Padding = sans(10, font.WeightNormal), 5
		axis.Tick.Label.Font = sans(9, font.WeightNormal)
		axis.Color, axis.Tick.Color = ink, ink
		axis.Padding, axis.Tick.Marker = 4, steps{}
	}
	grid := plotter.NewGrid()
	grid.Vertical.Color, grid.Horizontal.Color = color.Gray{0xE4}, color.Gray{0xE4}
	if p.Categories != nil {
		grid.Vertical.Color = nil
	}
	pl.Add(grid)
	if p.LogX {
		pl.X.Scale, pl.X.Tick.Marker = plot.LogScale{}, decades{}
	}
	if p.LogY {
		pl.Y.Scale, pl.Y.Tick.Marker = plot.LogScale{}, decades{}
	}
	p.frame(pl)
	if p.Categories != nil {
		p.addBars(pl)
		return pl, nil
	}
	return pl, p.addLines(pl)
}

// frame sets the ends of the axes from all that will be drawn.
func (p *Panel) frame(pl *plot.Plot) {
	low, high, left, right := math.Inf(1), math.Inf(-1), math.Inf(1), math.Inf(-1)
	for _, s := range p.Series {
		for _, pt := range s.Points {
			left, right = min(left, pt.X), max(right, pt.X)
			for _, y := range []float64{pt.Seen.Low, pt.Seen.High, pt.Theory, pt.Published} {
				if !math.IsNaN(y) {
					low, high = min(low, y), max(high, y)
				}
			}
		}
	}
	if p.Categories != nil {
		left, right = -.5, float64(len(p.Categories))-.5
	}
	pl.X.Min, pl.X.Max = left, right
	switch {
	case p.LogX:
		pl.X.Min, pl.X.Max = left/1.2, right*1.2
	case p.Categories == nil:
		pl.X.Min, pl.X.Max = left-(right-left)*.03, right+(right-left)*.03
	}
	switch room := (high - low) * .06; {
	case p.LogY && p.Categories != nil: // the lowest bar has some height too
		pl.Y.Min, pl.Y.Max = low/2, high*math.Pow(high/low, .06)
	case p.LogY:
		pl.Y.Min, pl.Y.Max = low/1.15, high*math.Pow(high/low, .06)
	case p.Categories != nil || low < (high-low)*.7:
		pl.Y.Min, pl.Y.Max = 0, high+room
	default:
		pl.Y.Min, pl.Y.Max = low-room, high+room
	}
}

// legend explains the colours of all panels, and the marks that are used.
func (f *Figure) legend() plot.Legend {
	l := plot.NewLegend()
	l.Top, l.Left, l.Padding, l.ThumbnailWidth = true, true, 5, 22
	l.TextStyle = text.Style{Font: sans(9.5, font.WeightNormal), Color: ink, Handler: plot.DefaultTextHandler, YAlign: l.TextStyle.YAlign}
	named := map[string]bool{}
	for _, p := range f.Panels {
		for i := range p.Series {
			if s := &p.Series[i]; !named[s.Name] {
				named[s.Name] = true
				l.Add(s.Name, swatch{s, p.Categories != nil})
			}
		}
	}
	if f.has(func(s *Series, p *Point) bool { return p.Seen.Low < p.Seen.High && !s.Dashed }) {
		l.Add("middle 90 % of the seeds", rangeMark{})
	}
	if f.has(func(_ *Series, p *Point) bool { return !math.IsNaN(p.Theory) }) {
		l.Add("closed form", theoryMark{})
	}
	if f.has(func(_ *Series, p *Point) bool { return !math.IsNaN(p.Published) }) {
		l.Add("published (one seed)", publishedMark{})
	}
	return l
}

func (f *Figure) has(what func(*Series, *Point) bool) bool {
	for _, p := range f.Panels {
		for i := range p.Series {
			for k := range p.Series[i].Points {
				if what(&p.Series[i], &p.Series[i].Points[k]) {
					return true
				}
			}
		}
	}
	return false
}
