package figures

import (
	"context"
	"fmt"
	"runtime"
	"strings"

	"golang.org/x/sync/errgroup"
)

// Options say how much is run.
type Options struct {
	Seeds    int      // ≥ 20; 0 is 100
	Requests int      // of each run, ≥ 6000, a sixth of them warm-up; 0 is 120,000
	Only     []string // numbers of figures, such as "4"; empty is all
	Traces   Traces   // recorded traffic; the zero value is the slices that are shipped
	Progress func(done, all int, title string)

	loads []float64 // at which the three classes are run; nil is all that are drawn
}

// Defaults and least values of the options.
const (
	DefaultSeeds    = 100
	DefaultRequests = 120_000
	leastSeeds      = 20
	leastRequests   = 6000
)

// Check says what is wrong with o.
func (o Options) Check() error {
	switch {
	case o.Seeds != 0 && o.Seeds < leastSeeds:
		return fmt.Errorf("seeds: %d; want at least %d, as rulings speak of 95 %% of them", o.Seeds, leastSeeds)
	case o.Requests != 0 && o.Requests < leastRequests:
		return fmt.Errorf("requests: %d; want at least %d", o.Requests, leastRequests)
	}
	return o.checkOnly()
}

func (o Options) withDefaults() Options {
	if o.Seeds == 0 {
		o.Seeds = DefaultSeeds
	}
	if o.Requests == 0 {
		o.Requests = DefaultRequests
	}
	if o.loads == nil {
		o.loads = []float64{.5, .6, .7, .8, knee, .9, .95}
	}
	if o.Progress == nil {
		o.Progress = func(int, int, string) {}
	}
	if len(o.Traces.Azure) == 0 {
		o.Traces = Shipped()
	}
	return o
}

func (o Options) checkOnly() error {
	for _, number := range o.Only {
		known := false
		for _, s := range studies() {
			known = known || s.has(number)
		}
		if !known {
			return fmt.Errorf("figure %q: there is none; want numbers of %s", number, numbers())
		}
	}
	return nil
}

// warmup returns how many requests of a run are left out.
func (o Options) warmup() int { return o.Requests / 6 }

// study is a set of runs that yields the figures of these numbers.
type study struct {
	title   string
	figures []string
	run     func(context.Context, Options) ([]Figure, error)
}

func studies() []study {
	return []study{
		{"three classes under five policies", []string{"1", "2", "3"}, threeClasses},
		{"sizes that are not known well", []string{"4"}, noise},
		{"placement", []string{"5"}, placement},
		{"premium and regular", []string{"6", "7", "8"}, twoClasses},
		{"exact and literal DRR", []string{"9"}, literalDRR},
		{"tenants", []string{"10"}, tenants},
		{"charging what was used", []string{"11"}, trueUp},
	}
}

func (s study) has(number string) bool {
	for _, n := range s.figures {
		if n == number {
			return true
		}
	}
	return false
}

func numbers() string {
	var all []string
	for _, s := range studies() {
		all = append(all, s.figures...)
	}
	return strings.Join(all, ", ")
}

// Report is what a run found.
type Report struct {
	Seeds, Requests int
	Source          string // of the traces
	Figures         []Figure
}

// Run runs the studies of the figures that are wanted. It ends early, with its error, when ctx does.
func Run(ctx context.Context, o Options) (*Report, error) {
	if err := o.Check(); err != nil {
		return nil, err
	}
	o = o.withDefaults()
	wanted := o.wanted()
	r := &Report{Seeds: o.Seeds, Requests: o.Requests, Source: o.Traces.Source}
	for i, s := range wanted {
		o.Progress(i, len(wanted), s.title)
		made, err := s.run(ctx, o)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s.title, err)
		}
		for k, f := range made {
			if o.wants(s.figures[k]) {
				r.Figures = append(r.Figures, f)
			}
		}
	}
	o.Progress(len(wanted), len(wanted), "")
	return r, nil
}

func (o Options) wants(number string) bool {
	return len(o.Only) == 0 || study{figures: o.Only}.has(number)
}

func (o Options) wanted() []study {
	var wanted []study
	for _, s := range studies() {
		for _, number := range s.figures {
			if o.wants(number) {
				wanted = append(wanted, s)
				break
			}
		}
	}
	return wanted
}

// overSeeds runs once for each seed, several at a time, and returns the results in the order of the seeds.
func overSeeds[R any](ctx context.Context, o Options, run func(seed uint64) (R, error)) ([]R, error) {
	runs := make([]R, o.Seeds)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i := range runs {
		group.Go(func() (err error) {
			if err := ctx.Err(); err != nil {
				return err
			}
			runs[i], err = run(uint64(i) + 1)
			return err
		})
	}
	return runs, group.Wait()
}
