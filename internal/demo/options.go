package demo

import (
	"errors"
	"fmt"
	"math"
	"strings"
)

// The scenarios by name.
const (
	ScenarioTrace          = "trace"           // a recorded trace; the default
	ScenarioPremiumRegular = "premium-regular" // two floods at 4 : 1
	ScenarioEqual          = "equal"           // the same at 1 : 1, as a control
)

// Scenarios lists the names of the scenarios.
func Scenarios() []string {
	return []string{ScenarioTrace, ScenarioPremiumRegular, ScenarioEqual}
}

// Options are what a user chooses. Zero is the scenario's own choice.
type Options struct {
	Scenario   string  // one of [Scenarios]; default trace
	TraceFile  string  // Azure CSV or Mooncake JSON lines; default the built-in sample
	PolicyFile string  // default the scenario's policy
	Requests   int     // most requests of a trace to replay, from its start; default 1,500
	Workers    int     // mock workers, at most 64
	Frontends  int     // clients with a connection of their own, at most 64; default 1
	Skew       bool    // each class enters through a frontend of its own
	Seed       uint64  // of the engines' jitter, and of arrivals on a coarse clock
	Speedup    float64 // how many times faster than recorded arrivals and engines run
}

const (
	maxWorkers      = 64
	maxFrontends    = 64
	maxRequests     = 1_000_000
	maxSpeedup      = 10_000
	minSpeedup      = 0.01
	defaultRequests = 1500
)

// Validate reports everything that is wrong, by the names of the flags.
func (o Options) Validate() error {
	var errs []error
	refuse := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	switch o.Scenario {
	case "", ScenarioTrace:
	case ScenarioPremiumRegular, ScenarioEqual:
		if o.Requests != 0 {
			refuse("--requests: cuts a trace, and %s asks %d requests always; leave one of them out", o.Scenario, 2*duelEach)
		}
	default:
		refuse("--scenario %q: want one of %s", o.Scenario, strings.Join(Scenarios(), ", "))
	}
	if o.Scenario != "" && o.TraceFile != "" {
		refuse("--scenario and --trace: each says what to ask; give only one of them")
	}
	for _, n := range []struct {
		flag       string
		value, top int
	}{{"--workers", o.Workers, maxWorkers}, {"--frontends", o.Frontends, maxFrontends}, {"--requests", o.Requests, maxRequests}} {
		if n.value < 0 || n.value > n.top {
			refuse("%s %d: want 1 to %d, or 0 for the default", n.flag, n.value, n.top)
		}
	}
	if s := o.Speedup; s != 0 && !(s >= minSpeedup && s <= maxSpeedup) || math.Signbit(s) {
		refuse("--speedup %v: want %v to %d, or 0 for the default", s, minSpeedup, maxSpeedup)
	}
	return errors.Join(errs...)
}
