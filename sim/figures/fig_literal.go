package figures

import (
	"context"
	"fmt"
	"strconv"

	"fairlead/drr"
	"fairlead/sim/lab"
	"fairlead/trace"
)

// Two sets of rules, and their colours.
const (
	exact = iota
	literal
	rules
)

var (
	ruleNames  = [rules]string{"exact (package drr)", "literal"}
	ruleColors = [rules]int{wspt, fcfs}
)

// marks are the numbers of dispatches at which a run is looked at; the last one ends it.
var marks = []int{10, 30, 100, 300, 1000, 3000, 10_000, 20_000}

// driftRun is what one seed gave, by rules and mark.
type driftRun struct {
	share  [rules][]float64 // of the first class
	widest [rules][]float64 // rounds by which the two came apart
	bound  []float64        // rounds
	rivals [rules]float64   // dispatches of the rival before a large head ran, or the last mark
}

func policyOf(rule int, classes []drr.Class) lab.Policy {
	if rule == exact {
		return lab.Production{Classes: classes}.Queue
	}
	return lab.Literal(classes)
}

// follow keeps both classes backlogged and looks at their service at every mark.
func follow(jobs []lab.Job, classes []drr.Class, rule int, look func(*lab.Drift)) error {
	d, n, next := lab.NewDrift(classes[0].Quantum, classes[1].Quantum), 0, 0
	return lab.Saturated(jobs, policyOf(rule, classes), 3, func(i int) bool {
		d.Serve(int(jobs[i].Class), jobs[i].Tokens)
		if n++; n == marks[next] {
			look(d)
			next++
		}
		return next < len(marks)
	})
}

func twoQueues(a, b int64, order drr.Order) []drr.Class {
	return []drr.Class{{Name: "a", Quantum: a, Order: order}, {Name: "b", Quantum: b, Order: order}}
}

// backlog makes requests of two classes whose n-th costs are given, enough for the last mark.
func backlog(cost func(class, n int) uint32) []lab.Job {
	jobs := make([]lab.Job, 2*marks[len(marks)-1])
	for i := range jobs {
		jobs[i] = lab.Job{At: float64(i), Size: 1, Tokens: cost(i%2, i/2), Class: int32(i % 2)}
	}
	return jobs
}

// Quanta of the Mooncake runs, in tokens.
const (
	mooncakeFirst  = 8192
	mooncakeSecond = 4096
)

func runDrift(seed uint64, costs []uint32) (driftRun, error) {
	var r driftRun
	fixed := backlog(func(class, _ int) uint32 { return []uint32{200, 300}[class] })
	start := int(seed) * 997 // another place in the trace for each seed
	recorded := backlog(func(class, n int) uint32 { return costs[(start+n+class*len(costs)/2)%len(costs)] })
	for rule := range rules {
		err := follow(fixed, twoQueues(100, 100, drr.FCFS), rule, func(d *lab.Drift) {
			r.share[rule] = append(r.share[rule], d.Share())
		})
		if err != nil {
			return r, err
		}
		r.bound = nil
		err = follow(recorded, twoQueues(mooncakeFirst, mooncakeSecond, drr.FCFS), rule, func(d *lab.Drift) {
			r.widest[rule] = append(r.widest[rule], d.Widest())
			r.bound = append(r.bound, d.Bound())
		})
		if err != nil {
			return r, err
		}
		if r.rivals[rule], err = newcomers(rule); err != nil {
			return r, err
		}
	}
	return r, nil
}

// newcomers lets a request of one token arrive in the class of a head of 20,000 with every dispatch of a rival class, and
// returns how many dispatches the rival had before the head ran, the last mark when it never did.
func newcomers(rule int) (float64, error) {
	limit := marks[len(marks)-1]
	jobs := make([]lab.Job, 2+2*limit)
	for i := range jobs {
		jobs[i] = lab.Job{At: float64(i), Size: 1, Tokens: []uint32{1, 1000}[i%2], Class: int32(i % 2)}
	}
	jobs[0].Tokens = 20_000
	queue, err := policyOf(rule, twoQueues(1000, 1000, drr.WSPT))(jobs)
	if err != nil {
		return 0, err
	}
	queue.Push(0)
	queue.Push(1)
	rivals := 0
	for rivals < limit {
		i := queue.Pop()
		if i == 0 {
			break
		}
		if jobs[i].Class == 1 {
			rivals++
			queue.Push(2 * rivals)
			if 2*rivals+1 < len(jobs) {
				queue.Push(2*rivals + 1)
			}
		}
	}
	return float64(rivals), nil
}

// uncached returns what recorded requests cost.
func uncached(requests []trace.Request) []uint32 {
	costs := make([]uint32, len(requests))
	for i, r := range requests {
		costs[i] = uint32(max(1, r.Input-r.Cached))
	}
	return costs
}

func literalDRR(ctx context.Context, o Options) ([]Figure, error) {
	costs := uncached(o.Traces.Mooncake)
	runs, err := overSeeds(ctx, o, func(seed uint64) (driftRun, error) { return runDrift(seed, costs) })
	if err != nil {
		return nil, err
	}
	return []Figure{{
		ID: "09-literal", Title: "Figure 9 (ours): exact against literal DRR",
		Setup: "Two classes that are always backlogged. Left: equal quanta of 100, costs of 200 and 300. Middle: WSPT, equal quanta of 1,000; a head of " +
			"20,000 tokens, one request of one token in its class for each request of 1,000 of a rival. Right: quanta of 8,192 and 4,096, " +
			fmt.Sprintf("costs the uncached tokens of %s Mooncake requests (%s) in turn, another start for each seed.",
				thousands(strconv.Itoa(len(costs))), o.Traces.Source),
		Reading: "The reference's text, taken by the letter, grants a quantum only to a class that cannot pay, and bulk credit to all alike. " +
			"So what a class saved is spent without being earned again: shares follow costs instead of quanta, a large head never runs, and the " +
			"classes drift apart for ever. The exact arbiter never leaves the bound 1 + M₁/Q₁ + M₂/Q₂.",
		Panels:   []Panel{sharePanel(runs), newcomerPanel(runs), driftPanel(runs)},
		Verdicts: literalVerdicts(runs),
	}}, nil
}

// overMarks draws a value of each mark.
func overMarks(runs []driftRun, s Series, value func(r *driftRun, mark int) float64) Series {
	for i, n := range marks {
		s.Points = append(s.Points, point(float64(n), each(runs, func(r *driftRun) float64 { return value(r, i) })))
	}
	return s
}

func byRule(draw func(rule int, s Series) Series) []Series {
	series := make([]Series, rules)
	for rule := range rules {
		series[rule] = draw(rule, Series{Name: ruleNames[rule], Color: ruleColors[rule]})
	}
	return series
}

func sharePanel(runs []driftRun) Panel {
	return Panel{
		Title: "share of a class of equal quantum", X: "dispatches", Y: "share of the tokens (%)", LogX: true,
		Series: byRule(func(rule int, s Series) Series {
			return overMarks(runs, s, func(r *driftRun, mark int) float64 { return 100 * r.share[rule][mark] })
		}),
	}
}

func newcomerPanel(runs []driftRun) Panel {
	return Panel{
		Title: "until the large head runs", Y: "dispatches of the rival (ended at 20,000)", LogY: true,
		Categories: []string{"a head of 20,000 tokens"},
		Series: byRule(func(rule int, s Series) Series {
			s.Points = []Point{point(0, each(runs, func(r *driftRun) float64 { return r.rivals[rule] }))}
			return s
		}),
	}
}

func driftPanel(runs []driftRun) Panel {
	series := byRule(func(rule int, s Series) Series {
		return overMarks(runs, s, func(r *driftRun, mark int) float64 { return r.widest[rule][mark] })
	})
	bound := overMarks(runs, Series{Name: "the bound", Color: cmu, Dashed: true},
		func(r *driftRun, mark int) float64 { return r.bound[mark] })
	return Panel{
		Title: "Mooncake: widest gap of any interval", X: "dispatches", Y: "gap (rounds)", LogX: true, LogY: true,
		Series: append(series, bound),
	}
}

func literalVerdicts(runs []driftRun) []Verdict {
	last := len(marks) - 1
	share := func(rule int, want float64) []bool {
		return every(runs, func(r *driftRun) bool { s := r.share[rule][last]; return s > want-.005 && s < want+.005 })
	}
	shares := func(rule int) Sample {
		return each(runs, func(r *driftRun) float64 { return r.share[rule][last] })
	}
	drift := func(rule int) Sample {
		return each(runs, func(r *driftRun) float64 { return r.widest[rule][last] / r.bound[last] })
	}
	rivals := func(rule int) Sample { return each(runs, func(r *driftRun) float64 { return r.rivals[rule] }) }
	return []Verdict{
		relation("9.literal", "by the letter, costs 2Q and 3Q part 40 : 60", "within half a point", share(literal, .4)).seen(shares(literal), 100, " %"),
		relation("9.exact", "by exact DRR they part 50 : 50", "within half a point", share(exact, .5)).seen(shares(exact), 100, " %"),
		relation("9.starved", "by the letter the large head never runs", "not within 20,000 dispatches of the rival",
			every(runs, func(r *driftRun) bool { return r.rivals[literal] >= float64(marks[last]) })).seen(rivals(literal), 1, " dispatches"),
		relation("9.runs", "by exact DRR it runs", "within 21 dispatches of the rival",
			every(runs, func(r *driftRun) bool { return r.rivals[exact] <= 21 })).seen(rivals(exact), 1, " dispatches"),
		relation("9.broken", "the literal rules break the bound on Mooncake costs", "the widest gap is over it",
			every(runs, func(r *driftRun) bool { return r.widest[literal][last] > r.bound[last] })).seen(drift(literal), 1, " of the bound"),
		relation("9.kept", "exact DRR keeps it, on every interval", "the widest gap is within it",
			every(runs, func(r *driftRun) bool { return r.widest[exact][last] <= r.bound[last] })).seen(drift(exact), 1, " of the bound"),
	}
}
