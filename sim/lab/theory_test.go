//go:build !race

package lab_test

import (
	"math/rand/v2"
	"testing"

	"fairlead/sim/lab"
)

// threeClasses is the experiment of the queueing primer, with service times of this spread.
func threeClasses(sigma, load float64) lab.Workload {
	return lab.Workload{Load: load, Rate: 1e6, Classes: []lab.Class{
		{Name: "interactive", Weight: 8, Fraction: .5, Mean: .3, Sigma: sigma},
		{Name: "standard", Weight: 2, Fraction: .35, Mean: 1, Sigma: sigma},
		{Name: "batch", Weight: .5, Fraction: .15, Mean: 4, Sigma: sigma},
	}}
}

// heavy is the spread that the primer's figures have: a coefficient of variation of 1.5.
const heavy = 1.0857

func draw(t *testing.T, w lab.Workload, seed uint64, n int) []lab.Job {
	t.Helper()
	jobs, err := w.Draw(seed, n)
	if err != nil {
		t.Fatal(err)
	}
	return jobs
}

func serve(t *testing.T, jobs []lab.Job, p lab.Policy) *lab.Outcome {
	t.Helper()
	o, err := lab.Serve(jobs, p)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// TestClosedFormValues: the figures of the design notes, to their last digit.
func TestClosedFormValues(t *testing.T) {
	w := threeClasses(heavy, .85)
	noisy := func(sigma float64) []float64 { v := w; v.Noise = sigma; return v.SmithWaits() }
	pk := w.PollaczekKhinchine()
	for _, row := range []struct {
		name  string
		waits []float64
		want  float64
	}{
		{"FCFS", []float64{pk, pk, pk}, 113.9},
		{"c-mu", w.Cobham(), 25.47},
		{"WSPT", noisy(0), 21.87},
		{"WSPT, noise 1.0", noisy(1), 23.06},
		{"WSPT, noise 1.5", noisy(1.5), 24.58},
	} {
		within(t, row.name, w.Objective(w.Sojourns(row.waits)), row.want, .0005)
	}
	within(t, "mean field", lab.TwoChoicesMeanField(.9), 2.614, .0005)
}

// TestClosedForms: simulated means against theory, where one long run says something.
func TestClosedForms(t *testing.T) {
	const n, skip = 200_000, 20_000
	w := threeClasses(.5, .7)
	noisy := w
	noisy.Noise = 1
	pk := w.PollaczekKhinchine()
	for seed := range uint64(2) {
		jobs, blurred := draw(t, w, seed, n), draw(t, noisy, seed, n)
		rows := []struct {
			name    string
			outcome *lab.Outcome
			want    []float64 // mean sojourns
		}{
			{"FCFS", serve(t, jobs, lab.FCFS), w.Sojourns([]float64{pk, pk, pk})},
			{"c-mu", serve(t, jobs, lab.CMu(w.Classes)), w.Sojourns(w.Cobham())},
			{"WSPT", serve(t, jobs, lab.Smith(w.Classes)), w.Sojourns(w.SmithWaits())},
			{"noisy WSPT", serve(t, blurred, lab.Smith(w.Classes)), w.Sojourns(noisy.SmithWaits())},
			{"SRPT", lab.ServeSRPT(jobs), w.SRPTSojourns()},
			{"processor sharing", lab.ServeShared(jobs), w.SharedSojourns()},
		}
		for _, r := range rows {
			within(t, r.name+" objective", r.outcome.Objective(w.Classes, skip), w.Objective(r.want), .04)
			within(t, r.name+" interactive", lab.Mean(r.outcome.Sojourns(0, skip)), r.want[0], .05)
		}
		within(t, "Pollaczek-Khinchine", lab.Mean(rows[0].outcome.Waits(lab.All, skip)), pk, .10)
	}
}

// TestHeavyTails: at the primer's spread and load one seed may be a third off; the median of many is not.
func TestHeavyTails(t *testing.T) {
	const n, skip, seeds = 60_000, 10_000, 21
	w := threeClasses(heavy, .85)
	var cmu, wspt []float64
	for seed := range uint64(seeds) {
		jobs := draw(t, w, seed, n)
		cmu = append(cmu, serve(t, jobs, lab.CMu(w.Classes)).Objective(w.Classes, skip))
		wspt = append(wspt, serve(t, jobs, lab.Smith(w.Classes)).Objective(w.Classes, skip))
	}
	within(t, "median c-mu", lab.Quantile(cmu, .5), w.Objective(w.Sojourns(w.Cobham())), .08)
	within(t, "median WSPT", lab.Quantile(wspt, .5), w.Objective(w.Sojourns(w.SmithWaits())), .08)
}

// TestMeanField: two hundred equal servers behave as very many do.
func TestMeanField(t *testing.T) {
	rng, now := rand.New(rand.NewPCG(3, 3)), 0.0
	jobs := make([]lab.Job, 600_000)
	for i := range jobs {
		now += rng.ExpFloat64() / (200 * .9)
		jobs[i] = lab.Job{At: now, Size: rng.ExpFloat64(), Tokens: 1}
	}
	speeds := make([]float64, 200)
	for i := range speeds {
		speeds[i] = 1
	}
	o, err := lab.Route(jobs, speeds, lab.TwoByLine, 1)
	if err != nil {
		t.Fatal(err)
	}
	within(t, "mean sojourn", lab.Mean(o.Sojourns(lab.All, 100_000)), lab.TwoChoicesMeanField(.9), .03)
}
