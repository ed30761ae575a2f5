package figures

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"fairlead/sim/lab"
)

var sigmas = []float64{0, .25, .5, .75, 1, 1.25, 1.5, 2}

// Published values of figure 4, by σ.
var publishedNoise = map[float64]float64{0: 22.8, 1: 24.7, 1.5: 26.6}

// noiseRun has the objectives of one seed.
type noiseRun struct {
	wspt []float64 // by the place of σ in sigmas
	cmu  float64
}

func runNoise(seed uint64, o Options) (noiseRun, error) {
	r := noiseRun{wspt: make([]float64, len(sigmas))}
	w := threeClassLoad(knee)
	for i, sigma := range sigmas {
		w.Noise = sigma
		jobs, err := w.Draw(seed, o.Requests)
		if err != nil {
			return r, err
		}
		out, err := lab.Serve(jobs, lab.Smith(w.Classes))
		if err != nil {
			return r, err
		}
		r.wspt[i] = out.Objective(w.Classes, o.warmup())
		if sigma == 0 {
			if out, err = lab.Serve(jobs, lab.CMu(w.Classes)); err != nil {
				return r, err
			}
			r.cmu = out.Objective(w.Classes, o.warmup())
		}
	}
	return r, nil
}

func noise(ctx context.Context, o Options) ([]Figure, error) {
	runs, err := overSeeds(ctx, o, func(seed uint64) (noiseRun, error) { return runNoise(seed, o) })
	if err != nil {
		return nil, err
	}
	w := threeClassLoad(knee)
	noisy := Series{Name: "WSPT, noisy sizes", Color: wspt}
	steady := Series{Name: "c-mu", Color: cmu}
	var verdicts []Verdict
	for i, sigma := range sigmas {
		w.Noise = sigma
		theory := w.Objective(w.Sojourns(w.SmithWaits()))
		seeds := each(runs, func(r *noiseRun) float64 { return r.wspt[i] })
		p := point(sigma, seeds).theory(theory)
		if published, ok := publishedNoise[sigma]; ok {
			p = p.published(published)
			name := strconv.FormatFloat(sigma, 'g', -1, 64)
			verdicts = append(verdicts, byTheory("4.sigma-"+name, "WSPT scores this at σ = "+name, published, seeds, theory))
		}
		noisy.Points = append(noisy.Points, p)
		steady.Points = append(steady.Points, point(sigma, each(runs, func(r *noiseRun) float64 { return r.cmu })).
			theory(w.Objective(w.Sojourns(w.Cobham()))))
	}
	return []Figure{{
		ID: "04-noise", Title: "Figure 4: sizes that are not known well",
		Setup: threeClassSetup + " Load 0.85. WSPT is told each size times a lognormal factor of scale σ.",
		Reading: "The mistakes that noise makes are between requests of nearly equal index, and cost little. By theory the gain " +
			fmt.Sprintf("over c-mu is used up only at σ = %.2f.", breakEven()),
		Panels: []Panel{{
			X: "σ of the error of the size", Y: "Σ w p E[T]  (weighted seconds)", Series: []Series{noisy, steady},
		}},
		Verdicts: append(verdicts, noiseVerdicts(runs)...),
	}}, nil
}

// breakEven returns the σ at which noisy WSPT is as good as c-mu, by the closed forms.
func breakEven() float64 {
	w := threeClassLoad(knee)
	target, low, high := w.Objective(w.Sojourns(w.Cobham())), 0.0, 5.0
	for range 40 {
		w.Noise = (low + high) / 2
		if w.Objective(w.Sojourns(w.SmithWaits())) < target {
			low = w.Noise
		} else {
			high = w.Noise
		}
	}
	return low
}

func noiseVerdicts(runs []noiseRun) []Verdict {
	exact, one, worse := slices.Index(sigmas, 0), slices.Index(sigmas, 1), slices.Index(sigmas, 1.5)
	cost := func(r *noiseRun) float64 { return r.wspt[one]/r.wspt[exact] - 1 }
	return []Verdict{
		relation("4.graceful", "WSPT degrades gracefully", "noise of σ = 1 costs between 3 and 8 %",
			every(runs, func(r *noiseRun) bool { return cost(r) >= .03 && cost(r) <= .08 })).seen(each(runs, cost), 100, " %"),
		contradiction(publishedNoise[1.5] > publishedObjective[cmu], "26.6 against 25.4",
			relation("4.baseline", "even at σ = 1.5 it is still better than c-mu", "WSPT below c-mu",
				every(runs, func(r *noiseRun) bool { return r.wspt[worse] < r.cmu }))),
	}
}
