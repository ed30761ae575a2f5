package figures

import (
	"math"

	"fairlead/sim/lab"
)

// Figure is what one experiment found.
type Figure struct {
	ID       string // names its files: "01-objective"
	Title    string
	Setup    string // what was run, with all parameters; Markdown
	Reading  string // what to see in it; Markdown
	Panels   []Panel
	Verdicts []Verdict
}

// Panel is one diagram of a figure.
type Panel struct {
	Title  string
	X, Y   string // axes, with units
	LogX   bool
	LogY   bool
	Series []Series
	// Categories, when there are any, make it a diagram of bars: a point's X is the index of its category.
	Categories []string
}

// Series is one line of a panel, or the bars of one colour.
type Series struct {
	Name   string
	Color  int // place in the palette; one thing has one colour in all figures
	Points []Point
	Dashed bool // a limit or a guide rather than a measurement
}

// Point is a measurement at X.
type Point struct {
	X         float64
	Seen      Spread
	Theory    float64 // closed form, NaN when there is none
	Published float64 // the primer's value, NaN when it gives none
}

// point is a Point from one value for each seed.
func point(x float64, seeds Sample) Point {
	return Point{X: x, Seen: seeds.Spread(), Theory: math.NaN(), Published: math.NaN()}
}

func (p Point) theory(v float64) Point    { p.Theory = v; return p }
func (p Point) published(v float64) Point { p.Published = v; return p }

// Sample holds one value for each seed, in the order of the seeds.
type Sample []float64

// Spread says where the values of a sample lie.
type Spread struct {
	Median    float64
	Low, High float64 // between them lie the middle 90 %
}

// Spread returns the median and the middle 90 % of s.
func (s Sample) Spread() Spread {
	sorted := append([]float64(nil), s...)
	return Spread{lab.Quantile(sorted, .5), lab.Quantile(sorted, .05), lab.Quantile(sorted, .95)}
}

// each returns one value for each run.
func each[R any](runs []R, value func(*R) float64) Sample {
	s := make(Sample, len(runs))
	for i := range runs {
		s[i] = value(&runs[i])
	}
	return s
}

// every returns one answer for each run.
func every[R any](runs []R, holds func(*R) bool) []bool {
	answers := make([]bool, len(runs))
	for i := range runs {
		answers[i] = holds(&runs[i])
	}
	return answers
}
