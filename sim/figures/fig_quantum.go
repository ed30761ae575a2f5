package figures

func quantumFigure(runs []dualRun) Figure {
	published := map[int64]means{1: {.579, 1.238}, 8: {.545, 1.264}}
	panel := func(class int, title string) Panel {
		s := Series{Name: "WSPT in each class", Color: wspt}
		for _, ratio := range ratios {
			p := point(float64(ratio), each(runs, func(r *dualRun) float64 { return r.sweep[ratio][class] }))
			if v, ok := published[ratio]; ok {
				p = p.published(v[class])
			}
			s.Points = append(s.Points, p)
		}
		return Panel{Title: title, X: "quantum of premium / quantum of regular", Y: "mean TTFT (s)", Series: []Series{s}}
	}
	return Figure{
		ID: "06-quantum", Title: "Figure 6: the ratio of the quanta", Setup: dualSetup,
		Reading: "The ratio matters only while both classes are backlogged, and 2 : 1 decides most of these moments. That has little to " +
			"do with how a quantum compares with the cost of a head: quanta of 128 tokens saturate in the same way.",
		Panels:   []Panel{panel(premium, "premium"), panel(regular, "regular")},
		Verdicts: quantumVerdicts(runs),
	}
}

// bought returns the part of what 8:1 takes off the TTFT of premium that 2:1 takes off already.
func bought(sweep map[int64]means) float64 {
	return (sweep[1][premium] - sweep[2][premium]) / (sweep[1][premium] - sweep[8][premium])
}

func quantumVerdicts(runs []dualRun) []Verdict {
	at := func(ratio int64, class int) Sample {
		return each(runs, func(r *dualRun) float64 { return r.sweep[ratio][class] })
	}
	part := func(r *dualRun) float64 { return bought(r.sweep) }
	tiny := func(r *dualRun) float64 { return bought(r.tiny) }
	last := func(r *dualRun) float64 { return 1 - r.sweep[8][premium]/r.sweep[3][premium] }
	return []Verdict{
		unstated("6.premium-1", "premium mean TTFT at 1 : 1", .579, at(1, premium)),
		unstated("6.premium-8", "premium mean TTFT at 8 : 1", .545, at(8, premium)),
		unstated("6.regular-1", "regular mean TTFT at 1 : 1", 1.238, at(1, regular)),
		unstated("6.regular-8", "regular mean TTFT at 8 : 1", 1.264, at(8, regular)),
		relation("6.moves", "from 1 : 1 to 8 : 1 premium falls and regular rises", "both",
			every(runs, func(r *dualRun) bool {
				return r.sweep[8][premium] < r.sweep[1][premium] && r.sweep[8][regular] > r.sweep[1][regular]
			})),
		relation("6.saturates", "essentially all the separation is bought by 2 : 1", "at least 60 % of that of 8 : 1",
			every(runs, func(r *dualRun) bool { return part(r) >= .6 })).seen(each(runs, part), 100, " %"),
		relation("6.flat", "8 : 1 is indistinguishable from 3 : 1", "premium within 3 %",
			every(runs, func(r *dualRun) bool { return last(r) <= .03 })).seen(each(runs, last), 100, " %"),
		relation("6.why", "it saturates once a quantum exceeds the cost of a head",
			"at quanta of 128 and 256, far below that cost, 2 : 1 buys less than 60 %",
			every(runs, func(r *dualRun) bool { return tiny(r) < .6 })).seen(each(runs, tiny), 100, " %"),
	}
}
