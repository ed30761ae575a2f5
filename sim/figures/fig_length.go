package figures

import (
	"fmt"
	"slices"
)

// Published values of figure 8, by order: mean wait of the shortest and the longest tenth, and the longest wait.
var (
	publishedTenths = map[int][2]float64{orderFCFS: {2.64, 3.20}, orderWSPT: {.46, 4.08}}
	publishedWorst  = map[int]float64{orderFCFS: 38, orderWSPT: 349}
)

func lengthFigure(runs []dualRun) Figure {
	tenths, worst := make([]Series, len(orderNames)), make([]Series, len(orderNames))
	for k, name := range orderNames {
		tenths[k], worst[k] = Series{Name: name, Color: orderColors[k]}, Series{Name: name, Color: orderColors[k]}
		for d := range deciles {
			p := point(float64(d+1), each(runs, func(r *dualRun) float64 { return r.order[k].decile[d] }))
			if v, ok := publishedTenths[k]; ok && d == 0 {
				p = p.published(v[0])
			} else if ok && d == deciles-1 {
				p = p.published(v[1])
			}
			tenths[k].Points = append(tenths[k].Points, p)
		}
		p := point(0, each(runs, func(r *dualRun) float64 { return r.order[k].worst }))
		if v, ok := publishedWorst[k]; ok {
			p = p.published(v)
		}
		worst[k].Points = []Point{p}
	}
	return Figure{
		ID: "08-length", Title: "Figure 8: wait by length, and the worst case",
		Setup: dualSetup + " Quanta 4 : 1. Deciles are of the lengths of regular requests, which reproduces the primer's values best.",
		Reading: "WSPT takes its gain from the longest tenth. Ageing bounds what it takes: nobody is overtaken by a request that arrives later " +
			"than `aging` times the own service time.",
		Panels: []Panel{
			{Title: "regular requests by length", X: "decile of length, shortest first", Y: "mean wait (s)", Series: tenths},
			{Title: "longest wait of a run", Y: "wait (s)", LogY: true, Categories: []string{"all requests"}, Series: worst},
		},
		Verdicts: lengthVerdicts(runs),
	}
}

func lengthVerdicts(runs []dualRun) []Verdict {
	decile := func(order, d int) Sample {
		return each(runs, func(r *dualRun) float64 { return r.order[order].decile[d] })
	}
	var verdicts []Verdict
	for _, k := range []int{orderFCFS, orderWSPT} {
		name := orderNames[k]
		verdicts = append(verdicts,
			unstated("8."+name+".shortest", name+": mean wait of the shortest tenth", publishedTenths[k][0], decile(k, 0)),
			unstated("8."+name+".longest", name+": mean wait of the longest tenth", publishedTenths[k][1], decile(k, deciles-1)),
			unstated("8."+name+".worst", name+": longest wait", publishedWorst[k],
				each(runs, func(r *dualRun) float64 { return r.order[k].worst })))
	}
	flat := func(r *dualRun) float64 {
		d := r.order[orderFCFS].decile
		return slices.Max(d[:]) / slices.Min(d[:])
	}
	graded := func(r *dualRun) float64 {
		d := r.order[orderWSPT].decile
		return d[deciles-1] / d[0]
	}
	ratio := publishedWorst[orderWSPT] / publishedWorst[orderFCFS]
	lasting := Options{Requests: DefaultRequests} // a maximum does not become steadier in longer runs
	tenfold := bySeeds("8.tenfold", "the worst wait under WSPT is close to tenfold", ratio,
		each(runs, func(r *dualRun) float64 { return r.order[orderWSPT].worst / r.order[orderFCFS].worst }), lasting)
	tenfold.Published = fmt.Sprintf("%.1f ×", ratio)
	return append(verdicts,
		relation("8.flat", "FCFS is almost flat over lengths", "the largest decile below 1.15 times the least",
			every(runs, func(r *dualRun) bool { return flat(r) < 1.15 })).seen(each(runs, flat), 1, " times"),
		relation("8.graded", "WSPT is steeply graded", "the longest tenth waits over four times as long as the shortest",
			every(runs, func(r *dualRun) bool { return graded(r) > 4 })).seen(each(runs, graded), 1, " times"),
		relation("8.worst", "the worst wait is far longer under WSPT", "over twice that of FCFS",
			every(runs, func(r *dualRun) bool { return r.order[orderWSPT].worst > 2*r.order[orderFCFS].worst })),
		tenfold)
}
