package whatif

import (
	"math"
	"slices"

	"github.com/HdrHistogram/hdrhistogram-go"

	"fairlead/sim"
)

// Unit says how a figure is written.
type Unit uint8

// The units.
const (
	Count    Unit = iota // requests
	Tokens               // uncached prompt tokens, or output
	Fraction             // 0 to 1
	Seconds
)

// Metric is a figure of a group of requests.
type Metric struct {
	Name string
	Unit Unit
	Help string
	of   func(*sim.Group) float64
}

// Metrics lists every figure, in the order of reports. Times are in seconds; NaN
// where there is nothing to measure.
func Metrics() []Metric { return slices.Clone(metrics) }

var metrics = allMetrics()

func allMetrics() []Metric {
	list := []Metric{
		{"asked", Count, "requests", func(g *sim.Group) float64 { return float64(g.Asked) }},
		{"completed", Count, "requests that ended well", func(g *sim.Group) float64 { return float64(g.Completed) }},
		{"refused", Fraction, "part of the requests that ended otherwise", func(g *sim.Group) float64 { return part(g.Refused(), g.Asked) }},
		{"late", Fraction, "part of the requests that missed their deadline", func(g *sim.Group) float64 { return part(g.Late, g.Asked) }},
		{"tokens", Tokens, "uncached prompt tokens handed out", func(g *sim.Group) float64 { return float64(g.Tokens) }},
		{"output", Tokens, "output tokens", func(g *sim.Group) float64 { return float64(g.Output) }},
		{"share", Fraction, "of the tokens charged while others waited too, as they turned out", func(g *sim.Group) float64 { return shared(g, g.Share) }},
		{"due", Fraction, "share that the weights entitle to, over the same time", func(g *sim.Group) float64 { return shared(g, g.Due) }},
	}
	for _, span := range []struct {
		name, help string
		of         func(*sim.Group) *hdrhistogram.Histogram
	}{
		{"wait", "from being asked to the first hand-out", func(g *sim.Group) *hdrhistogram.Histogram { return g.Wait }},
		{"ttft", "from being asked to the first token", func(g *sim.Group) *hdrhistogram.Histogram { return g.TTFT }},
		{"total", "from being asked to the end", func(g *sim.Group) *hdrhistogram.Histogram { return g.Total }},
	} {
		for _, q := range []struct {
			name    string
			percent float64
		}{{"p50", 50}, {"p90", 90}, {"p99", 99}, {"max", 100}} {
			list = append(list, Metric{span.name + "_" + q.name, Seconds, span.help, func(g *sim.Group) float64 { return quantile(span.of(g), q.percent) }})
		}
	}
	return list
}

func part(n, of int) float64 {
	if of == 0 {
		return math.NaN()
	}
	return float64(n) / float64(of)
}

// shared is NaN where nobody ever shared.
func shared(g *sim.Group, x float64) float64 {
	if g.Share == 0 && g.Due == 0 {
		return math.NaN()
	}
	return x
}

func quantile(h *hdrhistogram.Histogram, percent float64) float64 {
	if h.TotalCount() == 0 {
		return math.NaN()
	}
	return float64(h.ValueAtPercentile(percent)) / 1e6
}

// FindMetric returns the index of a metric in [Metrics], -1 for none.
func FindMetric(name string) int {
	return slices.IndexFunc(metrics, func(m Metric) bool { return m.Name == name })
}

// Stat is a figure over the seeds.
type Stat struct {
	Median    float64
	Low, High float64 // hold the central nine tenths of the seeds
	N         int     // seeds that had something to measure
}

// NewStat sums up the values of a figure; NaN is no value.
func NewStat(values []float64) Stat {
	sorted := slices.DeleteFunc(slices.Clone(values), math.IsNaN)
	n := len(sorted)
	if n == 0 {
		return Stat{Median: math.NaN(), Low: math.NaN(), High: math.NaN()}
	}
	slices.Sort(sorted)
	cut := n / 20
	return Stat{Median: (sorted[(n-1)/2] + sorted[n/2]) / 2, Low: sorted[cut], High: sorted[n-1-cut], N: n}
}
