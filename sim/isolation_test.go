//go:build !race

package sim

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"fairlead/agent/engine/mock"
)

// TestIsolation: premium asks for 17 % of the capacity and is entitled to four
// times regular's share. However much regular asks for, premium's p99 stays within
// 1.5 times of what it was, and under one global FCFS it does not; the median over
// 20 seeds is judged, because a single p99 is luck.
func TestIsolation(t *testing.T) {
	const seeds = 20
	calm := make([]float64, seeds)
	for seed := range calm {
		calm[seed] = premiumP99(t, uint64(seed), 1, fourToOne)
	}
	for _, flood := range []float64{2, 5, 10} {
		fair, fcfs := make([]float64, seeds), make([]float64, seeds/4) // what FCFS does shows in few
		for seed := range seeds {
			fair[seed] = premiumP99(t, uint64(seed), flood, fourToOne) / calm[seed]
		}
		for seed := range fcfs {
			fcfs[seed] = premiumP99(t, uint64(seed), flood, globalFCFS) / calm[seed]
		}
		slices.Sort(fair)
		slices.Sort(fcfs)
		t.Logf("regular × %v: premium's p99 × %.2f (%.2f to %.2f); under one FCFS × %.0f (%.0f to %.0f)",
			flood, median(fair), fair[0], fair[seeds-1], median(fcfs), fcfs[0], fcfs[len(fcfs)-1])
		if median(fair) > 1.5 {
			t.Errorf("regular × %v: premium's p99 grew to %.2f times", flood, median(fair))
		}
		if median(fcfs) < 10 {
			t.Errorf("regular × %v: one FCFS isolates as well, which cannot be: × %.2f", flood, median(fcfs))
		}
	}
}

func median(sorted []float64) float64 {
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

const fourToOne = `
default_policy_family: regular
uncached_isl_buckets: [{min_tokens: 0, bucket: all}]
policy_classes:
  - {name: premium, policy_family: premium, cache_bucket: all, quantum: 2048}
  - {name: regular, policy_family: regular, cache_bucket: all, quantum: 512}
`

// globalFCFS has one queue for all; premium is to it an unknown name.
const globalFCFS = `
default_policy_family: all
uncached_isl_buckets: [{min_tokens: 0, bucket: all}]
policy_classes: [{name: all, policy_family: all, cache_bucket: all, quantum: 1024}]
`

const (
	islandRate = 3000 // tokens a second, of one slot
	islandTime = 700 * time.Second
)

// premiumP99 is the p99 of the time to the first token of premium, in seconds. What
// is left when the time is over does not count, so that an endless regular queue
// costs no time.
func premiumP99(t *testing.T, seed uint64, flood float64, policy string) float64 {
	t.Helper()
	// Premium's arrivals are the same, flooded or not.
	requests := slices.Concat(
		lognormal(rand.New(rand.NewPCG(seed, 7)), "premium", 700, .17*islandRate),
		lognormal(rand.New(rand.NewPCG(seed, 8)), "regular", 1200, flood*.68*islandRate))
	slices.SortStableFunc(requests, func(a, b Request) int { return int(a.At - b.At) })
	r := run(t, Config{
		Policy: parse(t, policy), Requests: requests, Until: islandTime, Beat: 30 * time.Second,
		Workers: []Worker{{Engine: mock.Config{Slots: 1, PrefillRate: islandRate, TokenTime: 1, MaxBatched: math.MaxInt32}}},
	})
	for i := range r.Traffic {
		if g := &r.Traffic[i]; g.Class == "premium" {
			return float64(g.TTFT.ValueAtPercentile(99)) / 1e6
		}
	}
	t.Fatal("no premium request")
	return 0
}

// lognormal draws Poisson arrivals with lognormal prompts of a mean, that bring so
// many tokens a second.
func lognormal(rng *rand.Rand, class string, mean, tokens float64) []Request {
	const sigma = .85
	var requests []Request
	for at := time.Duration(0); ; {
		at += time.Duration(rng.ExpFloat64() / (tokens / mean) * float64(time.Second))
		if at >= islandTime {
			return requests
		}
		input := uint32(1 + math.Exp(math.Log(mean)-sigma*sigma/2+sigma*rng.NormFloat64()))
		requests = append(requests, Request{At: at, Class: class, Input: input, Output: 1})
	}
}
