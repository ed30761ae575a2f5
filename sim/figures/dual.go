package figures

import (
	"cmp"
	"context"
	"slices"

	"fairlead/drr"
	"fairlead/sim/lab"
)

// The dual-load experiment. The primer states the mix, the means, the jump and the speed; load, spread and
// quanta it does not.
const (
	dualRate    = 3000 // tokens a second
	dualSpread  = 0.85 // σ of the logarithm of the input length
	dualQuantum = 1024 // of the regular class, tokens
	tinyQuantum = 128  // far below the cost of a usual request
	agedBy      = 20.0 // k of the aged WSPT
	deciles     = 10
)

const dualSetup = "One server of 3,000 tokens a second; premium (30 % of arrivals, mean 700 tokens, priority jump 3) and regular (70 %, " +
	"1,200 tokens) have a class each in `drr`. The primer does not state load, spread and quanta; here they are 0.85, " +
	"lognormal with σ = 0.85, and 1,024 tokens for regular. TTFT is wait and prefill."

// Places of the classes.
const (
	premium = iota
	regular
)

func dualLoad() lab.Workload {
	return lab.Workload{Load: knee, Rate: dualRate, Classes: []lab.Class{
		{Name: "premium", Weight: 1, Fraction: .3, Mean: 700. / dualRate, Sigma: dualSpread, Jump: 3},
		{Name: "regular", Weight: 1, Fraction: .7, Mean: 1200. / dualRate, Sigma: dualSpread},
	}}
}

// Orders within a class, and their colours, which are those of the policies.
var (
	orderNames  = []string{"FCFS", "WSPT", "WSPT aged, k = 20"}
	orderColors = []int{fcfs, wspt, shared}
)

// Places of the orders.
const (
	orderFCFS = iota
	orderWSPT
	orderAged
)

var ratios = []int64{1, 2, 3, 4, 6, 8}

// means are of one run: mean TTFT by class, seconds.
type means [2]float64

// dualRun is what one seed gave.
type dualRun struct {
	sweep map[int64]means // WSPT, by ratio of the quanta
	tiny  map[int64]means // the same at tiny quanta
	order [3]orderRun     // at 4:1, by order
}

// orderRun is what an order gave at 4:1.
type orderRun struct {
	ttft   means
	p99    means            // of the TTFT, seconds
	decile [deciles]float64 // mean wait of regular requests by length, seconds
	worst  float64          // wait, seconds
}

// dualRing is the policy of two classes whose quanta stand in this ratio.
func dualRing(base, ratio int64, order int) lab.Policy {
	class := drr.Class{Order: drr.WSPT}
	switch order {
	case orderFCFS:
		class.Order = drr.FCFS
	case orderAged:
		class.Aging, class.Rate = agedBy, dualRate
	}
	first, second := class, class
	first.Name, first.Quantum = "premium", base*ratio
	second.Name, second.Quantum = "regular", base
	return lab.Production{Classes: []drr.Class{first, second}}.Queue
}

func meansOf(out *lab.Outcome, skip int) means {
	return means{lab.Mean(out.Sojourns(premium, skip)), lab.Mean(out.Sojourns(regular, skip))}
}

func runDual(seed uint64, o Options) (dualRun, error) {
	var r dualRun
	jobs, err := dualLoad().Draw(seed, o.Requests)
	if err != nil {
		return r, err
	}
	if r.sweep, err = sweep(jobs, dualQuantum, ratios, o); err != nil {
		return r, err
	}
	if r.tiny, err = sweep(jobs, tinyQuantum, []int64{1, 2, 8}, o); err != nil {
		return r, err
	}
	for k := range r.order {
		if r.order[k], err = runOrder(jobs, k, o); err != nil {
			return r, err
		}
	}
	return r, nil
}

// sweep serves jobs by WSPT in each class, at several ratios of the quanta over that of regular.
func sweep(jobs []lab.Job, base int64, ratios []int64, o Options) (map[int64]means, error) {
	found := make(map[int64]means, len(ratios))
	for _, ratio := range ratios {
		out, err := lab.Serve(jobs, dualRing(base, ratio, orderWSPT))
		if err != nil {
			return nil, err
		}
		found[ratio] = meansOf(out, o.warmup())
	}
	return found, nil
}

func runOrder(jobs []lab.Job, order int, o Options) (orderRun, error) {
	out, err := lab.Serve(jobs, dualRing(dualQuantum, 4, order))
	if err != nil {
		return orderRun{}, err
	}
	r := orderRun{ttft: meansOf(out, o.warmup())}
	for class := range r.p99 {
		r.p99[class] = lab.Quantile(out.Sojourns(class, o.warmup()), .99)
	}
	r.worst = lab.Quantile(out.Waits(lab.All, o.warmup()), 1)
	r.decile = byLength(out, o.warmup())
	return r, nil
}

// byLength returns the mean waits of regular requests by decile of length, the shortest first.
func byLength(out *lab.Outcome, skip int) (waits [deciles]float64) {
	var jobs []int
	for i := skip; i < len(out.Jobs); i++ {
		if out.Jobs[i].Class == regular {
			jobs = append(jobs, i)
		}
	}
	slices.SortStableFunc(jobs, func(a, b int) int { return cmp.Compare(out.Jobs[a].Size, out.Jobs[b].Size) })
	for d := range waits {
		part := jobs[d*len(jobs)/deciles : (d+1)*len(jobs)/deciles]
		for _, i := range part {
			waits[d] += (out.Start[i] - out.Jobs[i].At) / float64(len(part))
		}
	}
	return waits
}

func twoClasses(ctx context.Context, o Options) ([]Figure, error) {
	runs, err := overSeeds(ctx, o, func(seed uint64) (dualRun, error) { return runDual(seed, o) })
	if err != nil {
		return nil, err
	}
	return []Figure{quantumFigure(runs), orderFigure(runs), lengthFigure(runs)}, nil
}
