package figures

import "fmt"

// Published values of figure 3 at ρ = 0.85: FCFS, c-mu.
var publishedTail = [...]float64{140.3, 40.5}

func tailFigure(runs byLoad, o Options) Figure {
	series := runs.overLoad(func(r *threeRun, policy int) float64 { return r.policy[policy].p99 }, nil)
	publish(series, publishedTail[:]...)
	return Figure{
		ID: "03-tail", Title: "Figure 3: the 99th percentile of the critical class",
		Setup: threeClassSetup + " Sojourn time of interactive requests; there is no closed form to compare with.",
		Reading: "The band shows why one run of 120,000 requests does not tell a p99 under FCFS: a few long busy periods make it. " +
			"Under c-mu it is far steadier. The curve of WSPT lies on that of c-mu.",
		Panels: []Panel{{
			X: "load ρ", Y: "p99 sojourn of interactive (s)", LogY: true, Series: series,
		}},
		Verdicts: tailVerdicts(runs.knee(), o),
	}
}

func tailVerdicts(at []threeRun, o Options) []Verdict {
	p99 := func(policy int) Sample { return each(at, func(r *threeRun) float64 { return r.policy[policy].p99 }) }
	cut := func(r *threeRun) float64 { return r.policy[cmu].p99 / r.policy[fcfs].p99 }
	mean := publishedSojourn
	cutMean := 1 - mean[cmu][interactive]/mean[fcfs][interactive]
	cutTail := 1 - publishedTail[cmu]/publishedTail[fcfs]
	return []Verdict{
		bySeeds("3.FCFS", "FCFS puts interactive p99 at this", publishedTail[fcfs], p99(fcfs), o),
		bySeeds("3.c-mu", "c-mu holds it at this", publishedTail[cmu], p99(cmu), o),
		relation("3.cut", "c-mu cuts the p99", "below 0.45 of that of FCFS",
			every(at, func(r *threeRun) bool { return cut(r) < .45 })).seen(each(at, cut), 1, ""),
		contradiction(cutTail < cutMean,
			fmt.Sprintf("mean −%.0f %%, p99 −%.0f %%", 100*cutMean, 100*cutTail),
			relation("3.more", "priority helps the tail more than the average", "p99 falls by a larger part than the mean",
				every(at, func(r *threeRun) bool {
					f, c := &r.policy[fcfs], &r.policy[cmu]
					return c.p99/f.p99 < c.sojourn[interactive]/f.sojourn[interactive]
				}))),
	}
}
