package figures

import (
	"image/color"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// swatch shows a series in the legend: a filled box for bars, a line else.
type swatch struct {
	series *Series
	filled bool
}

// Thumbnail implements plot.Thumbnailer.
func (s swatch) Thumbnail(c *draw.Canvas) {
	if s.filled {
		box := draw.Crop(*c, 5, -5, 1, -1)
		c.SetColor(colorOf(s.series))
		c.Fill(box.Path())
		return
	}
	y := c.Center().Y
	c.StrokeLine2(s.series.stroke(), c.Min.X, y, c.Max.X, y)
	if !s.series.Dashed {
		c.DrawGlyph(draw.GlyphStyle{Color: colorOf(s.series), Radius: 2.2, Shape: draw.CircleGlyph{}}, c.Center())
	}
}

// rangeMark, theoryMark and publishedMark explain the marks of all series.
type (
	rangeMark     struct{}
	theoryMark    struct{}
	publishedMark struct{}
)

// Thumbnail implements plot.Thumbnailer.
func (rangeMark) Thumbnail(c *draw.Canvas) {
	c.SetColor(color.Gray{0xD8})
	c.Fill(draw.Crop(*c, 5, -5, 0, 0).Path())
	drawRange(*c, c.Center().X, c.Min.Y, c.Max.Y)
}

// Thumbnail implements plot.Thumbnailer.
func (theoryMark) Thumbnail(c *draw.Canvas) {
	c.StrokeLines(theoryLine, []vg.Point{{X: c.Min.X, Y: c.Center().Y}, {X: c.Max.X, Y: c.Center().Y}})
}

// Thumbnail implements plot.Thumbnailer.
func (publishedMark) Thumbnail(c *draw.Canvas) { drawPublished(*c, c.Center()) }
