//go:build slow && !race

package lab_test

import (
	"testing"

	"fairlead/sim/lab"
)

// TestManySeeds: what one heavy-tailed seed cannot show, two hundred do. Their means are those of theory, and their medians,
// which lie a little below since the spread is skewed, are those that have been found before.
func TestManySeeds(t *testing.T) {
	const n, skip, seeds = 120_000, 20_000, 200
	w := threeClasses(heavy, .85)
	pk := w.PollaczekKhinchine()
	noisy := func(sigma float64) lab.Workload { v := w; v.Noise = sigma; return v }
	for _, row := range []struct {
		name   string
		stream lab.Workload
		policy lab.Policy
		waits  []float64
		median float64
	}{
		{"FCFS", w, lab.FCFS, []float64{pk, pk, pk}, 110.5},
		{"c-mu", w, lab.CMu(w.Classes), w.Cobham(), 25.1},
		{"WSPT", w, lab.Smith(w.Classes), w.SmithWaits(), 21.6},
		{"WSPT, noise 1.0", noisy(1), lab.Smith(w.Classes), noisy(1).SmithWaits(), 22.8},
		{"WSPT, noise 1.5", noisy(1.5), lab.Smith(w.Classes), noisy(1.5).SmithWaits(), 24.3},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			var objectives []float64
			for seed := range uint64(seeds) {
				o := serve(t, draw(t, row.stream, seed, n), row.policy)
				objectives = append(objectives, o.Objective(w.Classes, skip))
			}
			within(t, "mean", lab.Mean(objectives), w.Objective(w.Sojourns(row.waits)), .03)
			within(t, "median", lab.Quantile(objectives, .5), row.median, .03)
		})
	}
}
