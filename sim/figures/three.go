package figures

import (
	"context"
	"fmt"
	"slices"

	"fairlead/sim/lab"
)

// The experiment of the primer: three classes, lognormal service times. The spread reproduces its figures: a
// coefficient of variation of 1.5.
const heavyTail = 1.0857

// knee is the load at which the primer quotes its numbers.
const knee = .85

func threeClassLoad(load float64) lab.Workload {
	return lab.Workload{Load: load, Rate: 1e6, Classes: []lab.Class{
		{Name: "interactive", Weight: 8, Fraction: .5, Mean: .3, Sigma: heavyTail},
		{Name: "standard", Weight: 2, Fraction: .35, Mean: 1, Sigma: heavyTail},
		{Name: "batch", Weight: .5, Fraction: .15, Mean: 4, Sigma: heavyTail},
	}}
}

const threeClassSetup = "One server; interactive (weight 8, mean service 0.30 s), standard (2, 1.00 s) and batch (0.5, 4.00 s) arrive " +
	"50 : 35 : 15 as a Poisson stream; lognormal service with a coefficient of variation of 1.5."

// Places of the classes.
const (
	interactive = iota
	standard
	batch
)

// Policies of the experiment, and their colours.
const (
	fcfs = iota
	cmu
	wspt
	shared
	srpt
	policies
)

var policyNames = [policies]string{"FCFS", "c-mu", "WSPT", "processor sharing", "SRPT"}

// threeRun is what one seed gave at one load.
type threeRun struct {
	policy [policies]struct {
		objective float64    // Σ w p T, seconds
		sojourn   [3]float64 // means by class, seconds
		p99       float64    // sojourn of the interactive class, seconds
		work      float64    // Σ s W of the whole run, seconds²
	}
}

func runThree(w lab.Workload, seed uint64, o Options) (threeRun, error) {
	var r threeRun
	jobs, err := w.Draw(seed, o.Requests)
	if err != nil {
		return r, err
	}
	for k := range policies {
		out, err := serveThree(jobs, w.Classes, k)
		if err != nil {
			return r, err
		}
		p := &r.policy[k]
		for c := range p.sojourn {
			p.sojourn[c] = lab.Mean(out.Sojourns(c, o.warmup()))
			p.objective += w.Classes[c].Weight * w.Classes[c].Fraction * p.sojourn[c]
		}
		p.p99 = lab.Quantile(out.Sojourns(interactive, o.warmup()), .99)
		for i, wait := range out.Waits(lab.All, 0) {
			p.work += jobs[i].Size * wait
		}
	}
	return r, nil
}

func serveThree(jobs []lab.Job, classes []lab.Class, policy int) (*lab.Outcome, error) {
	switch policy {
	case fcfs:
		return lab.Serve(jobs, lab.FCFS)
	case cmu:
		return lab.Serve(jobs, lab.CMu(classes))
	case wspt:
		return lab.Serve(jobs, lab.Smith(classes))
	case shared:
		return lab.ServeShared(jobs), nil
	}
	return lab.ServeSRPT(jobs), nil
}

// threeTheory returns the mean sojourn times of the classes under a policy.
func threeTheory(w lab.Workload, policy int) []float64 {
	switch policy {
	case fcfs:
		wait := w.PollaczekKhinchine()
		return w.Sojourns([]float64{wait, wait, wait})
	case cmu:
		return w.Sojourns(w.Cobham())
	case wspt:
		return w.Sojourns(w.SmithWaits())
	case shared:
		return w.SharedSojourns()
	}
	return w.SRPTSojourns()
}

// byLoad are the runs of all seeds, by the place of the load in the loads that the options say.
type byLoad struct {
	loads []float64
	runs  [][]threeRun
}

func (b byLoad) knee() []threeRun { return b.runs[slices.Index(b.loads, knee)] }

func threeClasses(ctx context.Context, o Options) ([]Figure, error) {
	all := byLoad{loads: o.loads}
	for _, load := range o.loads {
		runs, err := overSeeds(ctx, o, func(seed uint64) (threeRun, error) {
			return runThree(threeClassLoad(load), seed, o)
		})
		if err != nil {
			return nil, fmt.Errorf("load %v: %w", load, err)
		}
		all.runs = append(all.runs, runs)
	}
	return []Figure{objectiveFigure(all), sojournFigure(all.knee()), tailFigure(all, o)}, nil
}

// overLoad draws a value of every policy against load; theory may be nil.
func (b byLoad) overLoad(value func(r *threeRun, policy int) float64, theory func(w lab.Workload, policy int) float64) []Series {
	series := make([]Series, policies)
	for k := range policies {
		series[k] = Series{Name: policyNames[k], Color: k}
		for i, load := range b.loads {
			p := point(load, each(b.runs[i], func(r *threeRun) float64 { return value(r, k) }))
			if theory != nil {
				p.Theory = theory(threeClassLoad(load), k)
			}
			series[k].Points = append(series[k].Points, p)
		}
	}
	return series
}

// publish marks published values of the first policies, FCFS, c-mu and so on, at the knee.
func publish(series []Series, values ...float64) {
	for k, v := range values {
		for i := range series[k].Points {
			if p := &series[k].Points[i]; p.X == knee {
				p.Published = v
			}
		}
	}
}
