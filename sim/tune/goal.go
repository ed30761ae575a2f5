package tune

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	"fairlead/sim/whatif"
)

// Goal is what a class is to meet: a figure of [whatif.Metrics] and its bound.
type Goal struct {
	Class  string // physical, or as it is asked for
	Metric int    // index into whatif.Metrics
	Least  bool   // the bound is the least allowed, not the most
	Strict bool   // the bound itself is not allowed
	Bound  float64
	text   string
}

// String is the goal as it was written.
func (g Goal) String() string { return g.text }

var goalForm = regexp.MustCompile(`^\s*([A-Za-z0-9_-]+)\s*:\s*([a-z0-9_]+)\s*(<=|>=|<|>)\s*(\S+)\s*$`)

// ParseGoal reads a goal such as premium:ttft_p99<500ms, batch:share>=0.2 or
// regular:refused<=1%.
func ParseGoal(text string) (Goal, error) {
	m := goalForm.FindStringSubmatch(text)
	if m == nil {
		return Goal{}, fmt.Errorf("goal %q: want CLASS:FIGURE<BOUND, such as premium:ttft_p99<500ms or batch:share>=0.2", text)
	}
	g := Goal{Class: m[1], Metric: whatif.FindMetric(m[2]), Least: m[3][0] == '>', Strict: len(m[3]) == 1, text: strings.ReplaceAll(text, " ", "")}
	if g.Metric < 0 {
		return g, fmt.Errorf("goal %q: no figure %q; want one of %s", text, m[2], metricNames())
	}
	var err error
	if g.Bound, err = parseBound(m[4], whatif.Metrics()[g.Metric].Unit); err != nil {
		return g, fmt.Errorf("goal %q: %w", text, err)
	}
	return g, nil
}

func metricNames() string {
	var names []string
	for _, m := range whatif.Metrics() {
		names = append(names, m.Name)
	}
	return strings.Join(names, ", ")
}

func parseBound(text string, unit whatif.Unit) (float64, error) {
	switch unit {
	case whatif.Seconds:
		d, err := time.ParseDuration(text)
		if err != nil || d <= 0 {
			return 0, fmt.Errorf("%q is no duration; want one such as 500ms", text)
		}
		return d.Seconds(), nil
	case whatif.Fraction:
		number, percent := strings.CutSuffix(text, "%")
		x, err := strconv.ParseFloat(number, 64)
		if percent {
			x /= 100
		}
		if err != nil || !(x >= 0 && x <= 1) {
			return 0, fmt.Errorf("%q is no part; want 0 to 1, or a percentage", text)
		}
		return x, nil
	case whatif.Count, whatif.Tokens:
	}
	x, err := strconv.ParseFloat(text, 64)
	if err != nil || !(x >= 0) || math.IsInf(x, 1) {
		return 0, fmt.Errorf("%q is no number; want 0 or more", text)
	}
	return x, nil
}

// Met reports whether a value is as the goal wants.
func (g Goal) met(x float64) bool {
	switch {
	case math.IsNaN(x):
		return g.unmeasured() == 0
	case x == g.Bound:
		return !g.Strict
	case g.Least:
		return x > g.Bound
	}
	return x < g.Bound
}

// short is how far a value is from the goal, in parts of the bound; 0 when it is met.
func (g Goal) short(x float64) float64 {
	switch {
	case math.IsNaN(x):
		return g.unmeasured()
	case g.met(x):
		return 0
	}
	// A bound of 0 has no parts, and what misses by nothing misses all the same.
	return max(math.Abs(x-g.Bound)/max(g.Bound, 1e-3), 1e-6)
}

// unmeasured is the shortfall when there was nothing to measure: a class that never
// shared misses nothing, one of whose requests none had a token misses everything.
func (g Goal) unmeasured() float64 {
	if whatif.Metrics()[g.Metric].Unit == whatif.Seconds {
		return 10
	}
	return 0
}

// room is how far a value may get worse before the goal is missed, in parts of the bound.
func (g Goal) room(x float64) float64 {
	if math.IsNaN(x) {
		return math.Inf(1)
	}
	r := (g.Bound - x) / max(math.Abs(g.Bound), 1e-3)
	if g.Least {
		return -r
	}
	return r
}

// value is the end of the interval that the goal is about.
func (g Goal) value(s whatif.Stat) float64 {
	if g.Least {
		return s.Low
	}
	return s.High
}
