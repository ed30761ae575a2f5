package figures

// Published values of figure 7, by order and class: mean TTFT, and p99 of regular.
var (
	publishedTTFT = map[int]means{orderFCFS: {.618, 3.362}, orderWSPT: {.546, 1.264}}
	publishedP99  = map[int]float64{orderFCFS: 22.5, orderWSPT: 14.2}
)

func orderFigure(runs []dualRun) Figure {
	mean := make([]Series, len(orderNames))
	tail := make([]Series, len(orderNames))
	for k, name := range orderNames {
		mean[k], tail[k] = Series{Name: name, Color: orderColors[k]}, Series{Name: name, Color: orderColors[k]}
		for class := range (means{}) {
			m := point(float64(class), each(runs, func(r *dualRun) float64 { return r.order[k].ttft[class] }))
			p := point(float64(class), each(runs, func(r *dualRun) float64 { return r.order[k].p99[class] }))
			if v, ok := publishedTTFT[k]; ok {
				m = m.published(v[class])
			}
			if v, ok := publishedP99[k]; ok && class == regular {
				p = p.published(v)
			}
			mean[k].Points, tail[k].Points = append(mean[k].Points, m), append(tail[k].Points, p)
		}
	}
	categories := []string{"premium", "regular"}
	return Figure{
		ID: "07-order", Title: "Figure 7: the order inside a class",
		Setup:   dualSetup + " Quanta 4 : 1. Aged WSPT, which the primer does not have, is the `aging: 20` of a policy file.",
		Reading: "Smith's rule nearly halves the mean of regular requests. What it does to their p99 depends on the seed. Ageing costs little.",
		Panels: []Panel{
			{Title: "mean", Y: "mean TTFT (s)", Categories: categories, Series: mean},
			{Title: "99th percentile", Y: "p99 TTFT (s)", Categories: categories, Series: tail},
		},
		Verdicts: orderVerdicts(runs),
	}
}

func orderVerdicts(runs []dualRun) []Verdict {
	ttft := func(order, class int) Sample {
		return each(runs, func(r *dualRun) float64 { return r.order[order].ttft[class] })
	}
	p99 := func(order int) Sample {
		return each(runs, func(r *dualRun) float64 { return r.order[order].p99[regular] })
	}
	var verdicts []Verdict
	for _, k := range []int{orderFCFS, orderWSPT} {
		name := orderNames[k]
		verdicts = append(verdicts,
			unstated("7."+name+".premium", name+": premium mean TTFT", publishedTTFT[k][premium], ttft(k, premium)),
			unstated("7."+name+".regular", name+": regular mean TTFT", publishedTTFT[k][regular], ttft(k, regular)),
			unstated("7."+name+".p99", name+": regular p99 TTFT", publishedP99[k], p99(k)))
	}
	better := func(class int) []bool {
		return every(runs, func(r *dualRun) bool { return r.order[orderWSPT].ttft[class] < r.order[orderFCFS].ttft[class] })
	}
	return append(verdicts,
		relation("7.premium", "WSPT beats FCFS on the premium mean", "lower", better(premium)),
		relation("7.regular", "WSPT beats FCFS on the regular mean", "lower", better(regular)),
		relation("7.tail", "WSPT beats FCFS on the regular p99", "lower",
			every(runs, func(r *dualRun) bool { return r.order[orderWSPT].p99[regular] < r.order[orderFCFS].p99[regular] })))
}
