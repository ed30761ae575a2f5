//go:build !race

package sim

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"fairlead/agent/engine/mock"
	"fairlead/wire"
)

// randomWorld is a small run with everything that may happen.
func randomWorld(t testing.TB, seed uint64) Config {
	rng := rand.New(rand.NewPCG(seed, 99))
	pick := func(n int) bool { return rng.IntN(n) == 0 }
	cfg := Config{Seed: seed, Hop: time.Duration(rng.Int64N(int64(20 * time.Millisecond)))}
	var text strings.Builder
	fmt.Fprintf(&text, "default_policy_family: c0\nplacement: %s\nuncached_isl_buckets: [{min_tokens: 0, bucket: all}]\npolicy_classes:\n",
		[]string{"least_work", "p2c", "round_robin", "random"}[rng.IntN(4)])
	classes := 1 + rng.IntN(3)
	for i := range classes {
		fmt.Fprintf(&text, "  - {name: c%d, policy_family: c%[1]d, cache_bucket: all, quantum: %d, queue_policy: %s",
			i, 1+rng.IntN(2000), []string{"fcfs", "wspt", "edf"}[rng.IntN(3)])
		if pick(3) {
			fmt.Fprintf(&text, ", prefill_busy_threshold: %d", rng.IntN(2000))
			if pick(2) {
				fmt.Fprintf(&text, ", busy_worker_ratio: %.2f", .1+.9*rng.Float64())
			}
		}
		if pick(4) {
			fmt.Fprintf(&text, ", prefill_busy_threshold_frac: %.2f", rng.Float64())
		}
		if pick(3) {
			fmt.Fprintf(&text, ", request_queue_limit_per_worker: %d", rng.IntN(20))
		}
		if pick(3) {
			text.WriteString(", tenants: true")
		}
		if pick(3) {
			text.WriteString(", output_weight: 2")
		}
		text.WriteString("}\n")
	}
	cfg.Policy = parse(t, text.String())
	for i := range 1 + rng.IntN(4) {
		cfg.Workers = append(cfg.Workers, randomWorker(rng, i))
	}
	at := time.Duration(0)
	for range 20 + rng.IntN(150) {
		at += time.Duration(rng.ExpFloat64() * float64(100*time.Millisecond))
		cfg.Requests = append(cfg.Requests, randomRequest(rng, at, classes))
	}
	if pick(3) {
		twoModels(rng, &cfg)
	}
	return cfg
}

// twoModels has workers serve one model or both, and requests name one, or none.
func twoModels(rng *rand.Rand, cfg *Config) {
	for i := range cfg.Workers {
		cfg.Workers[i].Engine.Models = [][]string{{"m"}, {"n"}, {"m", "n"}}[rng.IntN(3)]
	}
	for i := range cfg.Requests {
		cfg.Requests[i].Model = []string{"m", "n", "m", "n", ""}[rng.IntN(5)]
	}
}

func randomWorker(rng *rand.Rand, i int) Worker {
	w := Worker{
		Name: fmt.Sprintf("w%d", i), Slots: 1 + rng.IntN(4), Ranks: 1 + rng.IntN(2), Speed: .5 + rng.Float64(), Undeclared: rng.IntN(2) == 0,
		Engine: mock.Config{Slots: 4, PrefillRate: 3000, MaxBatched: 512, Stride: 1 + rng.Int64N(4), Jitter: float64(rng.IntN(2)) / 4},
	}
	if i > 0 {
		w.Join = time.Duration(rng.Int64N(int64(4 * time.Second)))
		w.CacheTokens = rng.Int64N(3000)
	}
	if rng.IntN(2) == 0 {
		w.Taints = []string{"big"}
	}
	if rng.IntN(3) == 0 {
		w.MTBF, w.MTTR = 5*time.Second, 4*time.Second
	}
	if rng.IntN(3) == 0 {
		w.Engine.Failures = []mock.Failure{
			{Kind: mock.Refuse, Probability: .05, RetryAfter: 300 * time.Millisecond}, {Kind: mock.Die, Probability: .05},
			{Kind: mock.Slow, Probability: .05}, {Kind: mock.Hang, Every: 40},
		}
	}
	return w
}

func randomRequest(rng *rand.Rand, at time.Duration, classes int) Request {
	r := Request{
		At: at, Class: fmt.Sprintf("c%d", rng.IntN(classes)), Tenant: []string{"", "a", "b"}[rng.IntN(3)], Session: []string{"", "x", "y", "z"}[rng.IntN(4)],
		Input: rng.Uint32N(1500), Output: rng.Uint32N(30), Strict: rng.Uint32N(2), NoQueue: rng.IntN(20) == 0,
	}
	if rng.IntN(2) == 0 {
		r.Cached = rng.Uint32N(r.Input + 1)
	}
	if rng.IntN(4) == 0 {
		r.TTL = time.Second + time.Duration(rng.Int64N(int64(10*time.Second)))
	}
	if rng.IntN(10) == 0 {
		r.Worker, r.Soft = "w0", rng.IntN(2) == 0
	}
	if rng.IntN(12) == 0 {
		r.Where = &Where{Allow: []string{"w0", "w1"}, Rank: wire.AnyRank}
	}
	if rng.IntN(12) == 0 {
		r.Where = &Where{Require: []string{"big"}, Rank: wire.AnyRank}
	}
	r.Retry = []wire.Retry{wire.RetryAuto, wire.RetryAlways, wire.RetryNever}[rng.IntN(3)]
	return r
}
