package figures

import "math"

// Published values of figure 2 at ρ = 0.85: mean sojourns by policy and class; the primer gives no others.
var publishedSojourn = map[int]map[int]float64{
	fcfs: {interactive: 21.9, batch: 25.5},
	cmu:  {interactive: 4.28, batch: 39.3},
	wspt: {interactive: 4.17, batch: 20.0},
}

func sojournFigure(at []threeRun) Figure {
	w := threeClassLoad(knee)
	var categories []string
	for _, c := range w.Classes {
		categories = append(categories, c.Name)
	}
	series := make([]Series, policies)
	for k := range policies {
		series[k] = Series{Name: policyNames[k], Color: k}
		theory := threeTheory(w, k)
		for c := range w.Classes {
			p := point(float64(c), each(at, func(r *threeRun) float64 { return r.policy[k].sojourn[c] })).theory(theory[c])
			if v, ok := publishedSojourn[k][c]; ok {
				p = p.published(v)
			}
			series[k].Points = append(series[k].Points, p)
		}
	}
	return Figure{
		ID: "02-conservation", Title: "Figure 2: who waits (the conservation law)",
		Setup: threeClassSetup + " Load 0.85. Mean time from arrival to end, by class.",
		Reading: "No order makes the server faster. What c-mu takes from interactive requests, batch requests pay. Of the orders " +
			"that do not interrupt, none changes Σ sᵢWᵢ, the sum over all requests of size times wait.",
		Panels: []Panel{{
			Y: "mean sojourn time (s)", LogY: true, Categories: categories, Series: series,
		}},
		Verdicts: sojournVerdicts(at),
	}
}

func sojournVerdicts(at []threeRun) []Verdict {
	w := threeClassLoad(knee)
	var verdicts []Verdict
	for _, k := range []int{fcfs, cmu, wspt} {
		for _, c := range []int{interactive, batch} {
			name := w.Classes[c].Name
			verdicts = append(verdicts, byTheory("2."+policyNames[k]+"."+name,
				policyNames[k]+" gives "+name+" this mean sojourn", publishedSojourn[k][c],
				each(at, func(r *threeRun) float64 { return r.policy[k].sojourn[c] }), threeTheory(w, k)[c]))
		}
	}
	return append(verdicts,
		relation("2.flat", "FCFS gives every class roughly the same sojourn", "the largest at most 1.35 times the least",
			every(at, func(r *threeRun) bool {
				s := r.policy[fcfs].sojourn
				return max(s[0], s[1], s[2]) <= 1.35*min(s[0], s[1], s[2])
			})),
		relation("2.price", "c-mu pushes batch above FCFS, WSPT keeps it below", "c-mu above FCFS above WSPT",
			every(at, func(r *threeRun) bool {
				return r.policy[cmu].sojourn[batch] > r.policy[fcfs].sojourn[batch] &&
					r.policy[fcfs].sojourn[batch] > r.policy[wspt].sojourn[batch]
			})),
		relation("2.match", "WSPT holds interactive where c-mu does", "within 10 %",
			every(at, func(r *threeRun) bool {
				return math.Abs(r.policy[wspt].sojourn[interactive]/r.policy[cmu].sojourn[interactive]-1) <= .1
			})),
		relation("2.moved", "nothing was created, work was moved", "Σ sᵢWᵢ of FCFS, c-mu and WSPT equal to 10⁻⁹",
			every(at, func(r *threeRun) bool {
				return math.Abs(r.policy[cmu].work/r.policy[fcfs].work-1) < 1e-9 &&
					math.Abs(r.policy[wspt].work/r.policy[fcfs].work-1) < 1e-9
			})))
}
