package figures

import (
	"context"

	"fairlead/sim/lab"
)

// Published values of figure 5.
const (
	publishedJSQ = 2.57
	publishedP2C = 4.48
)

var placements = []lab.Placement{lab.Random, lab.RoundRobin, lab.TwoByLine, lab.TwoByWork, lab.ShortestLine, lab.LeastWork}

// placeRun is what one seed gave, by the place in placements.
type placeRun struct {
	mean   []float64 // sojourn, seconds
	growth []float64 // mean of the second half of the run over that of the first
}

// endpoints are eight servers, of speeds from 0.6 to 1.4.
func endpoints() []float64 {
	speeds := make([]float64, 8)
	for i := range speeds {
		speeds[i] = .6 + .8*float64(i)/7
	}
	return speeds
}

func runPlacement(seed uint64, o Options) (placeRun, error) {
	var r placeRun
	jobs, err := threeClassLoad(8*knee).Draw(seed, o.Requests)
	if err != nil {
		return r, err
	}
	for _, place := range placements {
		out, err := lab.Route(jobs, endpoints(), place, seed)
		if err != nil {
			return r, err
		}
		spans := out.Sojourns(lab.All, o.warmup())
		half := len(spans) / 2
		r.mean = append(r.mean, lab.Mean(spans))
		r.growth = append(r.growth, lab.Mean(spans[half:])/lab.Mean(spans[:half]))
	}
	return r, nil
}

func placement(ctx context.Context, o Options) ([]Figure, error) {
	runs, err := overSeeds(ctx, o, func(seed uint64) (placeRun, error) { return runPlacement(seed, o) })
	if err != nil {
		return nil, err
	}
	mean, growth := Series{Name: "eight endpoints", Color: cmu}, Series{Name: "eight endpoints", Color: cmu}
	var categories []string
	for i, place := range placements {
		p := point(float64(i), each(runs, func(r *placeRun) float64 { return r.mean[i] }))
		switch place {
		case lab.LeastWork:
			p = p.published(publishedJSQ)
		case lab.TwoByWork:
			p = p.published(publishedP2C)
		}
		mean.Points = append(mean.Points, p)
		growth.Points = append(growth.Points, point(float64(i), each(runs, func(r *placeRun) float64 { return r.growth[i] })))
		categories = append(categories, place.String())
	}
	return []Figure{{
		ID: "05-placement", Title: "Figure 5: placement",
		Setup: "Eight endpoints of speeds 0.6 to 1.4, each with a line of its own, first come first served; the three classes of figure 1 " +
			"at 0.85 of the fleet's speed. By work: the time until an endpoint would be idle, its unfinished work over its speed. " +
			"P2C looks at two different endpoints.",
		Reading: "Random and round robin give the slowest endpoint more than it can serve: their bars grow with the length of the run and " +
			"mean nothing. Counting requests instead of work costs a quarter to a half.",
		Panels: []Panel{
			{Title: "mean time from arrival to end", Y: "mean sojourn (s)", LogY: true, Categories: categories, Series: []Series{mean}},
			{Title: "is there a steady state?", Y: "second half of the run / first half", Categories: categories, Series: []Series{growth}},
		},
		Verdicts: placementVerdicts(runs, o),
	}}, nil
}

func placementVerdicts(runs []placeRun, o Options) []Verdict {
	const random, twoByWork, leastWork = 0, 3, 5
	growth := func(r *placeRun) float64 { return r.growth[random] }
	ratio := func(r *placeRun) float64 { return r.mean[twoByWork] / r.mean[leastWork] }
	return []Verdict{
		bySeeds("5.jsq", "JSQ (by unfinished work) gives this", publishedJSQ,
			each(runs, func(r *placeRun) float64 { return r.mean[leastWork] }), o),
		bySeeds("5.p2c", "two choices (by unfinished work) give this", publishedP2C,
			each(runs, func(r *placeRun) float64 { return r.mean[twoByWork] }), o),
		relation("5.random", "random dispatch is unstable", "second half of the run over 1.5 times the first",
			every(runs, func(r *placeRun) bool { return growth(r) > 1.5 })).seen(each(runs, growth), 1, " times"),
		relation("5.ratio", "two choices buy most of the benefit", "1.45 to 1.9 times JSQ",
			every(runs, func(r *placeRun) bool { return ratio(r) >= 1.45 && ratio(r) <= 1.9 })).seen(each(runs, ratio), 1, " times"),
	}
}
