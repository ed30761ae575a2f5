package cli

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"fairlead/broker/arbiter"
	"fairlead/policy"
	"fairlead/sim"
	"fairlead/sim/whatif"
)

// simInput is what simulations are told: traffic, fleet, and how to play.
type simInput struct {
	traces, classes []string
	scale, ttl      string
	fleetFile       string
	speeds          []float64
	slowdown        float64
	group           whatif.Group
	traffic         whatif.Traffic
	seeds           int
	seed            uint64
	hop             time.Duration
	overload        int64
	times           string
	flags           *pflag.FlagSet
}

func (in *simInput) addFlags(flags *pflag.FlagSet) {
	in.flags = flags
	flags.StringArrayVar(&in.traces, "trace", nil, "traffic: an Azure CSV, Mooncake JSON lines, or what fairlead record wrote; may be given again")
	flags.StringArrayVar(&in.classes, "class", nil, "class of the rows of the trace at the same place: NAME, OLD=NEW,… or NAME:SHARE,… (default: as recorded)")
	flags.StringVar(&in.scale, "scale", "", "multiply the requests: 2, or by class: regular=10,premium=0.5")
	flags.StringVar(&in.ttl, "ttl", "", "time to live of requests that have none: 30s, or by class: premium=5s")
	flags.Float64Var(&in.traffic.Speedup, "speedup", 1, "how many times faster requests arrive than recorded")
	flags.IntVar(&in.traffic.Limit, "requests", 0, "most rows of each trace, from its start; 0 all")
	flags.BoolVar(&in.traffic.Sessions, "session-tenants", false, "make the session of a request its tenant, where it has none")
	flags.StringVar(&in.traffic.Model, "model", "", "model of requests that name none")
	in.addFleetFlags(flags)
	flags.IntVar(&in.seeds, "seeds", 1, "runs: the first as recorded, the others resampled; figures are medians with an interval")
	flags.DurationVar(&in.traffic.Block, "block", time.Minute, "length of the blocks that further seeds draw from the traffic, at most a tenth of it; 0 keeps it as recorded")
	flags.Uint64Var(&in.seed, "seed", 0, "seed of placement, jitter and failures")
	flags.DurationVar(&in.hop, "hop", 500*time.Microsecond, "time of a message between store, broker and agent")
	flags.Int64Var(&in.overload, "overload-prefill", 0, "give a worker nothing more above so many uncached tokens without a first token, as the broker's flag; 0 for off")
	flags.StringVar(&in.times, "engine-times", "modelled", "how long requests take: modelled, durations (as in a recording) or instants (play it back)")
}

func (in *simInput) addFleetFlags(flags *pflag.FlagSet) {
	g := &in.group
	flags.StringVar(&in.fleetFile, "fleet", "", "YAML file of the workers, or 'recorded' for those that a recording heard of")
	flags.IntVar(&g.Count, "workers", 1, "equal workers")
	flags.IntVar(&g.Slots, "slots", 8, "requests at once, of each")
	flags.IntVar(&g.Ranks, "ranks", 1, "data-parallel ranks of each")
	flags.Float64Var(&g.PrefillRate, "prefill-rate", 20_000, "uncached prompt tokens a second")
	flags.DurationVar(&g.TokenTime, "token-time", 20*time.Millisecond, "time of a decode step with one sequence")
	flags.Float64Var(&in.slowdown, "batch-slowdown", 0.02, "part of it that each further sequence adds")
	flags.Int64Var(&g.MaxBatched, "max-batched", 2048, "most tokens of one step, of all sequences")
	flags.Int64Var(&g.Stride, "stride", 1, "tokens decoded in one step; more is coarser and faster")
	flags.Float64Var(&g.Jitter, "jitter", 0, "largest relative deviation of a step, 0 to 1")
	flags.Float64SliceVar(&in.speeds, "speeds", nil, "speeds of the workers in turn, such as 1,1,0.5")
	flags.Int64Var(&g.CacheTokens, "cache-tokens", 0, "prefix cache of each worker; 0 believes the cached tokens of the trace")
	flags.StringSliceVar(&g.Models, "models", nil, "models that the workers serve (default: what requests name)")
	flags.DurationVar(&g.MTBF, "mtbf", 0, "mean time between deaths of a worker; 0 never")
	flags.DurationVar(&g.MTTR, "mttr", time.Minute, "mean time until a dead worker is back")
	flags.StringArrayVar(&g.Failures, "fail", nil, "failure of the engines: refuse=0.01, hang@1000, die=0.001 or slow=0.02; may be given again")
}

// study reads the files and puts everything together but for the policies.
func (in *simInput) study() (*whatif.Study, error) {
	if len(in.traces) == 0 {
		return nil, usage(errors.New("--trace: missing; want a file of recorded traffic"))
	}
	if len(in.classes) > len(in.traces) {
		return nil, usage(fmt.Errorf("--class: %d, but %d --trace; want at most one for each, in their order", len(in.classes), len(in.traces)))
	}
	times, ok := map[string]sim.Times{"modelled": sim.Modelled, "durations": sim.Durations, "instants": sim.Instants}[in.times]
	if !ok {
		return nil, usage(fmt.Errorf("--engine-times %q: want modelled, durations or instants", in.times))
	}
	if err := errors.Join(in.perClass(), in.sources()); err != nil {
		return nil, err
	}
	s := &whatif.Study{Traffic: in.traffic, Seeds: in.seeds, Seed: in.seed, Hop: in.hop, Times: times, Overload: arbiter.Overload{PrefillTokens: in.overload}}
	var err error
	s.Fleet, err = in.fleet()
	return s, err
}

// perClass reads the settings that may differ by class.
func (in *simInput) perClass() error {
	number := func(text string) (float64, error) { return strconv.ParseFloat(text, 64) }
	if in.scale != "" {
		if err := whatif.ParsePerClass(&in.traffic.Scale, in.scale, number); err != nil {
			return usage(fmt.Errorf("--scale %w; want a number, or CLASS=NUMBER,…", err))
		}
	}
	if in.ttl != "" {
		if err := whatif.ParsePerClass(&in.traffic.TTL, in.ttl, time.ParseDuration); err != nil {
			return usage(fmt.Errorf("--ttl %w; want a duration such as 30s, or CLASS=DURATION,…", err))
		}
	}
	return nil
}

func (in *simInput) sources() error {
	in.traffic.Sources = nil
	for i, name := range in.traces {
		f, err := os.Open(name)
		if err != nil {
			return fmt.Errorf("--trace: %w", err)
		}
		src, err := whatif.ReadSource(f, name)
		f.Close()
		if err != nil {
			return fmt.Errorf("--trace: %w", err)
		}
		if i < len(in.classes) {
			if src.Classes, err = whatif.ParseClasses(in.classes[i]); err != nil {
				return usage(fmt.Errorf("--class: %w", err))
			}
		}
		in.traffic.Sources = append(in.traffic.Sources, src)
	}
	return nil
}

func (in *simInput) fleet() ([]whatif.Group, error) {
	g := in.group
	if in.flags.Changed("batch-slowdown") {
		g.BatchSlowdown = &in.slowdown
	}
	switch {
	case in.fleetFile == "recorded":
		for _, src := range in.traffic.Sources {
			if len(src.Workers) > 0 {
				return whatif.FleetOf(src.Workers, g), nil
			}
		}
		return nil, usage(errors.New("--fleet recorded: no --trace is a recording that heard of workers"))
	case in.fleetFile != "":
		data, err := os.ReadFile(in.fleetFile)
		if err != nil {
			return nil, fmt.Errorf("--fleet: %w", err)
		}
		return whatif.ParseFleet(in.fleetFile, data)
	case g.Count < 1:
		return nil, usage(fmt.Errorf("--workers %d: want at least 1", g.Count))
	case len(in.speeds) == 0:
		return []whatif.Group{g}, nil
	}
	groups := make([]whatif.Group, g.Count)
	for i := range groups {
		groups[i] = g
		groups[i].Count, groups[i].Speed = 1, in.speeds[i%len(in.speeds)]
	}
	return groups, nil
}

// loadPolicy reads a policy file, and names it as it was given.
func loadPolicy(file string) (whatif.Policy, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return whatif.Policy{}, err
	}
	p, err := policy.Parse(file, data)
	return whatif.Policy{Name: strings.TrimPrefix(file, "./"), Policy: p}, err
}
