package whatif

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"fairlead/broker/arbiter"
	"fairlead/policy"
	"fairlead/sim"
)

// Study is what is to be played.
type Study struct {
	Policies []Policy // one, or more to compare
	Fleet    []Group
	Traffic  Traffic
	Seeds    int    // default 1
	Seed     uint64 // added to what each seed draws beside the traffic
	// FirstSeed is the first of the seeds. Only seed 0 plays the traffic as recorded.
	FirstSeed uint64
	Hop       time.Duration // see [sim.Config]
	Times     sim.Times
	Overload  arbiter.Overload
	// Progress is told the part that is done, 0 to 1, now and then and from any
	// goroutine; nil for nobody.
	Progress func(float64)
	// Observe is told what happens in the run of the first seed, by policy; nil for
	// nobody.
	Observe func(policy int, h sim.Happening)
}

// Policy is a policy with its name in reports.
type Policy struct {
	Name string
	*policy.Policy
}

// Report is what came of a study.
type Report struct {
	Study    *Study
	Workers  []sim.Worker
	Requests int           // of the first seed
	Span     time.Duration // of their arrivals
	Outcomes []*Outcome    // by policy
}

// Outcome is what came of one policy.
type Outcome struct {
	Policy               Policy
	First                *sim.Result // of the first seed
	Classes              []*Row      // physical classes
	Traffic              []*Row      // by the name that was asked for
	Tenants              []*Row
	Workers              []WorkerRow
	PutBack, WorkersLost Stat
}

// Row is one group of requests over the seeds.
type Row struct {
	Model, Class, Tenant string
	values               [][]float64          // by metric, then seed
	reasons              map[string][]float64 // requests that ended so, by seed
}

// WorkerRow is one worker over the seeds.
type WorkerRow struct {
	Name          string
	Slots, Engine Stat // parts of its life, 0 to 1
}

// Stat is a figure of the row, by its index in [Metrics].
func (r *Row) Stat(metric int) Stat { return NewStat(r.values[metric]) }

// Reasons lists why requests did not complete, and how many a seed; by name.
func (r *Row) Reasons() (names []string, stats []Stat) {
	for name := range r.reasons {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		stats = append(stats, NewStat(r.reasons[name]))
	}
	return names, stats
}

// check fills in defaults and looks for what makes no sense.
func (s *Study) check() error {
	if s.Seeds == 0 {
		s.Seeds = 1
	}
	switch {
	case len(s.Policies) == 0:
		return errors.New("policy: none; want at least one")
	case s.Seeds < 0 || s.Seeds > maxSeeds:
		return fmt.Errorf("seeds: %d; want 1 to %d", s.Seeds, maxSeeds)
	case s.Times == sim.Instants && (len(s.Policies) > 1 || s.Seeds > 1 || s.Traffic.altered()):
		return errors.New("instants: play the recording back as it is, with one policy and one seed; for anything else use durations or modelled engines")
	}
	return s.Traffic.check()
}

const maxSeeds = 10_000

// Run plays everything. It ends early, with an error, when ctx does.
func (s *Study) Run(ctx context.Context) (*Report, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	first := s.Traffic.requests(s.FirstSeed)
	if len(first) == 0 {
		return nil, errors.New("scale: leaves no request at all")
	}
	fleet, err := workers(s.Fleet, s.models(first))
	if err != nil {
		return nil, err
	}
	report := &Report{Study: s, Workers: fleet, Requests: len(first), Span: first[len(first)-1].At}
	results, err := s.play(ctx, fleet)
	if err != nil {
		return nil, err
	}
	for i, p := range s.Policies {
		report.Outcomes = append(report.Outcomes, gather(p, results[i]))
	}
	return report, nil
}

// FirstClasses lists what each request of the first seed asks for.
func (s *Study) FirstClasses() []string {
	requests := s.Traffic.requests(s.FirstSeed)
	classes := make([]string, len(requests))
	for i := range requests {
		classes[i] = requests[i].Class
	}
	return classes
}

// models are those that requests name, for workers that name none.
func (s *Study) models(requests []sim.Request) []string {
	var names []string
	for i := range requests {
		if m := requests[i].Model; m != "" && !slices.Contains(names, m) {
			names = append(names, m)
		}
	}
	if len(names) == 0 {
		return []string{"model"}
	}
	slices.Sort(names)
	return names
}

// play runs policies × seeds in parallel; what comes of it does not depend on that.
func (s *Study) play(ctx context.Context, fleet []sim.Worker) ([][]*summary, error) {
	results := make([][]*summary, len(s.Policies))
	var done atomic.Int64 // thousandths of runs
	total := float64(1000 * s.Seeds * len(s.Policies))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i := range s.Policies {
		results[i] = make([]*summary, s.Seeds)
	}
	for seed := range s.Seeds {
		for i := range s.Policies {
			g.Go(func() error {
				advanced := func(thousandths int64) {
					if n := done.Add(thousandths); s.Progress != nil {
						s.Progress(float64(n) / total)
					}
				}
				r, err := s.one(ctx, i, seed, fleet, advanced)
				results[i][seed] = r
				return err
			})
		}
	}
	return results, g.Wait()
}

// stretch is how many things happen in a run between two looks at its context.
const stretch = 1 << 16

// one plays one policy with one seed.
func (s *Study) one(ctx context.Context, i, seed int, fleet []sim.Worker, advanced func(int64)) (*summary, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	cfg := sim.Config{
		Policy: s.Policies[i].Policy, Workers: fleet, Requests: s.Traffic.requests(s.FirstSeed + uint64(seed)), Seed: s.Seed + s.FirstSeed + uint64(seed),
		Hop: s.Hop, Times: s.Times, Overload: s.Overload,
	}
	if s.Observe != nil && seed == 0 {
		cfg.Observe = func(h sim.Happening) { s.Observe(i, h) }
	}
	run, err := sim.New(cfg)
	if err != nil {
		return nil, err
	}
	told := int64(0)
	for run.Advance(stretch) {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if now := int64(1000 * run.Progress()); now > told {
			advanced(now - told)
			told = now
		}
	}
	r, err := run.Result()
	if err != nil {
		return nil, fmt.Errorf("policy %s, seed %d: %w", s.Policies[i].Name, seed+1, err)
	}
	advanced(1000 - told)
	return summarise(r, seed == 0), nil
}
