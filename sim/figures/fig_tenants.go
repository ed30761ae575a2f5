package figures

import (
	"cmp"
	"context"
	"math/rand/v2"
	"slices"

	"fairlead/drr"
	"fairlead/sim/lab"
)

const (
	tenantCount = 10
	tenantLoad  = .8 // of all tenants together, as long as none asks for more
	tenantRate  = 1000
	quiet       = 1 // tenant numbers from here on are the others
)

// greed are the multiples of its part that tenant 0 asks for.
var greed = []float64{1, 2, 3, 5, 10}

// Ways to serve them, and their colours.
const (
	flatFCFS = iota
	flatWSPT
	nested
	ways
)

var (
	wayNames  = [ways]string{"one FCFS", "one WSPT", "tenants: true"}
	wayColors = [ways]int{fcfs, wspt, cmu}
)

// tenantRun has p99 waits of the tenants that do not change, in seconds, by way and place in greed.
type tenantRun struct{ others [ways][]float64 }

// times returns by what the p99 of the others is multiplied at this place in greed.
func (r *tenantRun) times(way, place int) float64 { return r.others[way][place] / r.others[way][0] }

func tenantWork(load float64) lab.Workload {
	return lab.Workload{Load: load, Rate: tenantRate, Classes: []lab.Class{
		{Name: "all", Weight: 1, Fraction: 1, Mean: 1, Sigma: 1},
	}}
}

// tenantJobs are requests of ten tenants, and those that tenant 0 asks besides when it asks multiple times its part.
func tenantJobs(seed uint64, n int, multiple float64) ([]lab.Job, error) {
	jobs, err := tenantWork(tenantLoad).Draw(seed, n)
	if err != nil {
		return nil, err
	}
	rng := rand.New(rand.NewPCG(seed, 11))
	for i := range jobs {
		jobs[i].Tenant = uint32(rng.IntN(tenantCount))
	}
	if multiple == 1 {
		return jobs, nil
	}
	part := (multiple - 1) / tenantCount
	more, err := tenantWork(tenantLoad*part).Draw(^seed, int(float64(n)*part))
	if err != nil {
		return nil, err
	}
	jobs = append(jobs, more...)
	slices.SortStableFunc(jobs, func(a, b lab.Job) int { return cmp.Compare(a.At, b.At) })
	return jobs, nil
}

func wayOf(way int) lab.Policy {
	switch way {
	case flatFCFS:
		return lab.FCFS
	case flatWSPT:
		return lab.OneLane(drr.Class{Order: drr.WSPT})
	}
	return lab.OneLane(drr.Class{Order: drr.FCFS, Tenants: true})
}

func runTenants(seed uint64, o Options) (tenantRun, error) {
	var r tenantRun
	for _, multiple := range greed {
		jobs, err := tenantJobs(seed, o.Requests/2, multiple)
		if err != nil {
			return r, err
		}
		for way := range ways {
			out, err := lab.Serve(jobs, wayOf(way))
			if err != nil {
				return r, err
			}
			r.others[way] = append(r.others[way], lab.Quantile(waitsOfOthers(out), .99))
		}
	}
	return r, nil
}

func waitsOfOthers(out *lab.Outcome) []float64 {
	var waits []float64
	for i, j := range out.Jobs {
		if j.Tenant >= quiet {
			waits = append(waits, out.Start[i]-j.At)
		}
	}
	return waits
}

func tenants(ctx context.Context, o Options) ([]Figure, error) {
	runs, err := overSeeds(ctx, o, func(seed uint64) (tenantRun, error) { return runTenants(seed, o) })
	if err != nil {
		return nil, err
	}
	series := make([]Series, ways)
	for way := range ways {
		series[way] = Series{Name: wayNames[way], Color: wayColors[way]}
		for i, multiple := range greed {
			series[way].Points = append(series[way].Points,
				point(multiple, each(runs, func(r *tenantRun) float64 { return r.others[way][i] })))
		}
	}
	return []Figure{{
		ID: "10-tenants", Title: "Figure 10 (ours): one tenant asks for more than its part",
		Setup: "One server, one class, ten tenants that together load it to 0.8; sizes lognormal with σ = 1, mean 1 s. One tenant asks for a multiple of " +
			"its part; from 3.5 on the server is overloaded. Waits are those of the other nine, over half the usual requests.",
		Reading: "Under one FCFS queue everybody waits behind the greedy one, for as long as the run lasts. With `tenants: true` the others have their " +
			"parts, and what is left over is the greedy one's; it waits alone. WSPT protects the mean, not a tenant.",
		Panels: []Panel{{
			X: "what one tenant asks for, times its part", Y: "p99 wait of the others (s)", LogY: true, Series: series,
		}},
		Verdicts: tenantVerdicts(runs),
	}}, nil
}

func tenantVerdicts(runs []tenantRun) []Verdict {
	five := slices.Index(greed, 5)
	times := func(way int) Sample {
		return each(runs, func(r *tenantRun) float64 { return r.times(way, five) })
	}
	return []Verdict{
		relation("10.kept", "with tenants a 5-fold tenant moves the others' p99 a little", "to at most 3 times",
			every(runs, func(r *tenantRun) bool { return r.times(nested, five) <= 3 })).seen(times(nested), 1, " times"),
		relation("10.flat", "under one FCFS queue it ruins it", "to over 20 times",
			every(runs, func(r *tenantRun) bool { return r.times(flatFCFS, five) > 20 })).seen(times(flatFCFS), 1, " times"),
	}
}
