//go:build !race

package sim

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"fairlead/agent/engine/mock"
	"fairlead/policy"
	"fairlead/wire"
)

const premiumRegular = `
default_policy_family: regular
uncached_isl_buckets: [{min_tokens: 0, bucket: all}]
policy_classes:
  - {name: premium, policy_family: premium, cache_bucket: all, quantum: 512}
  - {name: regular, policy_family: regular, cache_bucket: all, quantum: 128}
`

func parse(t testing.TB, text string) *policy.Policy {
	t.Helper()
	p, err := policy.Parse("test", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func fleet(n int) []Worker {
	workers := make([]Worker, n)
	for i := range workers {
		workers[i].Engine = mock.Config{Slots: 16, PrefillRate: 20_000, MaxBatched: 4096}
	}
	return workers
}

// poisson draws requests of two classes, a second has rate of them.
func poisson(rng *rand.Rand, n int, rate float64) []Request {
	requests := make([]Request, n)
	at := 0.0
	for i := range requests {
		at += rng.ExpFloat64() / rate
		requests[i] = Request{
			At: time.Duration(at * 1e9), Class: "regular", Input: 1 + uint32(rng.ExpFloat64()*1000), Output: 1 + uint32(rng.ExpFloat64()*100),
		}
		if i%4 == 0 {
			requests[i].Class = "premium"
		}
	}
	return requests
}

func run(t testing.TB, cfg Config) *Result {
	t.Helper()
	r, err := Run(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestDuel is the scenario of the reference router: 320 + 320 requests wait for one
// worker of four slots, entitled to 4 : 1.
func TestDuel(t *testing.T) {
	var requests []Request
	for range 320 {
		requests = append(requests, Request{Class: "premium", Input: 512, Output: 16}, Request{Class: "regular", Input: 512, Output: 16})
	}
	premium, regular, left := 0, 0, -1
	r := run(t, Config{
		Policy: parse(t, premiumRegular), Requests: requests, Hop: time.Millisecond,
		Workers: []Worker{{Engine: mock.Config{Slots: 4}, Join: time.Second}},
		Observe: func(h Happening) {
			switch {
			case h.Kind != Completed:
			case h.Request%2 == 1:
				regular++
			case premium+regular < 320:
				premium++
				fallthrough
			default:
				left = 320 - regular
			}
		},
	})
	if premium < 254 || premium > 258 {
		t.Errorf("%d of the first 320 completions are premium, want 256 ± 2", premium)
	}
	if left < 236 || left > 244 {
		t.Errorf("%d regular ones are left when the last premium one completes, want 240 ± 4", left)
	}
	for i, due := range []float64{.8, .2} {
		if c := r.Classes[i]; abs(c.Share-due) > .01 || abs(c.Due-due) > 1e-9 || c.Completed != 320 {
			t.Errorf("%s: share %.4f, due %.4f, %d completed", c.Class, c.Share, c.Due, c.Completed)
		}
	}
}

func abs(x float64) float64 { return max(x, -x) }

// TestRepeats: the same configuration gives the same result.
func TestRepeats(t *testing.T) {
	for seed := range uint64(20) {
		var events [2][]Happening
		var results [2]*Result
		for i := range 2 {
			w := randomWorld(t, seed)
			w.Observe = func(h Happening) { events[i] = append(events[i], h) }
			results[i] = run(t, w)
		}
		if !slices.Equal(events[0], events[1]) || !reflect.DeepEqual(results[0], results[1]) {
			t.Fatalf("seed %d: two runs differ", seed)
		}
	}
}

// TestEveryRequestEnds: whatever breaks, each request ends once, and the counts agree.
func TestEveryRequestEnds(t *testing.T) {
	total := Result{}
	reasons := map[wire.Reason]int{}
	for seed := range uint64(200) {
		cfg := randomWorld(t, seed)
		r := run(t, cfg)
		ended, tokens := 0, int64(0)
		for i := range r.Classes {
			c := &r.Classes[i]
			ended += c.Completed + c.Refused()
			tokens += c.Tokens
			for reason, n := range c.Reasons {
				reasons[reason] += n
			}
		}
		for i := range r.Traffic {
			tokens -= r.Traffic[i].Tokens
		}
		if ended != len(cfg.Requests) || r.Open != 0 || tokens != 0 {
			t.Fatalf("seed %d: %d of %d requests ended, %d are open, %d tokens more by class than by name", seed, ended, len(cfg.Requests), r.Open, tokens)
		}
		for _, w := range r.Workers {
			if !(w.Slots >= 0 && w.Slots <= 1.000001) || !(w.Engine >= 0 && w.Engine <= 1.000001) {
				t.Fatalf("seed %d: worker %+v", seed, w)
			}
		}
		total.PutBack += r.PutBack
		total.WorkersLost += r.WorkersLost
		total.Completed += r.Completed
	}
	t.Logf("%d completed, %d put back, %d workers lost, %v", total.Completed, total.PutBack, total.WorkersLost, reasons)
	for _, want := range []wire.Reason{wire.DeadlineExceeded, wire.QueueFull, wire.EngineError, wire.AttemptsExhausted} {
		if reasons[want] == 0 {
			t.Errorf("no request ended with %s", want)
		}
	}
	if total.PutBack < 100 || total.WorkersLost < 50 {
		t.Error("too little was put back or lost")
	}
}

func TestConfigErrors(t *testing.T) {
	good := Worker{}
	for want, cfg := range map[string]Config{
		"workers: none":                   {},
		"hop -1ns":                        {Hop: -1, Workers: []Worker{good}},
		"worker a b: name: want":          {Workers: []Worker{{Name: "a b"}}},
		"worker gpu-1: slots: -1":         {Workers: []Worker{{Slots: -1}}},
		"worker gpu-1: slots: 2097152 on": {Workers: []Worker{{Slots: 1 << 21}}},
		"worker gpu-1: ranks: 4294967295": {Workers: []Worker{{Ranks: math.MaxUint32}}},
		"worker gpu-1: speed: -1":         {Workers: []Worker{{Speed: -1}}},
		"worker gpu-1: jitter: 2":         {Workers: []Worker{{Engine: mock.Config{Jitter: 2}}}},
		"worker x: there are two":         {Workers: []Worker{{Name: "x"}, {Name: "x"}}},
		"request 1: arrives at 0s, after": {Workers: []Worker{good}, Requests: []Request{{At: 1}, {}}},
		"request 0: 2 of 1 tokens":        {Workers: []Worker{good}, Requests: []Request{{Input: 1, Cached: 2}}},
	} {
		if _, err := New(cfg); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// TestCache: a worker knows the sessions that it served last.
func TestCache(t *testing.T) {
	c := newCache(1000)
	for i, step := range []struct {
		session             string
		input, cached, want uint32
	}{
		{"a", 400, 0, 0}, {"a", 500, 400, 400}, {"b", 400, 300, 0}, {"b", 450, 400, 400},
		{"c", 300, 0, 0},   // a goes
		{"a", 500, 500, 0}, // b goes
		{"c", 310, 300, 300}, {"", 100, 60, 60},
	} {
		if got := c.admit(&Request{Session: step.session, Input: step.input, Cached: step.cached}); got != step.want {
			t.Errorf("step %d: %d cached, want %d", i, got, step.want)
		}
	}
}

// TestSpeeds: of two workers that are never idle, the one of double speed does double
// the work, and a decoding batch slows the prompts that come into it.
func TestSpeeds(t *testing.T) {
	requests := poisson(rand.New(rand.NewPCG(3, 3)), 4000, 200)
	r := run(t, Config{Requests: requests, Workers: []Worker{{Speed: 1}, {Speed: 2}}, Until: 400 * time.Second})
	slow, fast := &r.Workers[0], &r.Workers[1]
	if ratio := float64(fast.Prefilled) / float64(slow.Prefilled); ratio < 1.8 || ratio > 2.2 || slow.Engine < .99 || fast.Engine < .99 {
		t.Errorf("the fast worker did %.2f times the work: %+v", ratio, r.Workers)
	}
	if r.Open == 0 || r.Open+r.Completed != len(requests) {
		t.Errorf("%d of %d completed, %d are open", r.Completed, len(requests), r.Open)
	}
	first := func(before int) time.Duration {
		var requests []Request
		for range before {
			requests = append(requests, Request{Input: 10, Output: 1000})
		}
		at := time.Duration(0)
		run(t, Config{
			Requests: append(requests, Request{At: 5 * time.Second, Input: 10_000, Output: 1}),
			Workers:  []Worker{{Engine: mock.Config{Slots: 20}}},
			Observe: func(h Happening) {
				if h.Kind == FirstToken && h.Request == before {
					at = h.At - 5*time.Second
				}
			},
		})
		return at
	}
	if alone, beside := first(0), first(16); beside < alone*11/10 || beside > 2*alone {
		t.Errorf("a prompt takes %v alone, and %v beside 16 that decode", alone, beside)
	}
}

// TestManyTenants: the first ones are told apart, the rest are counted together, and so
// are requests without a tenant.
func TestManyTenants(t *testing.T) {
	requests := poisson(rand.New(rand.NewPCG(4, 4)), 2000, 50)
	for i := range requests {
		if i%10 > 0 {
			requests[i].Tenant = fmt.Sprintf("t%d", i%500)
		}
	}
	r := run(t, Config{Policy: parse(t, strings.Replace(fourToOne, "quantum: 512}", "quantum: 512, tenants: true}", 1)), Requests: requests, Workers: fleet(1)})
	asked := map[string]int{}
	for i := range r.Tenants {
		if g := &r.Tenants[i]; g.Class == "regular" {
			asked[g.Tenant] += g.Asked
		}
	}
	total := 0
	for _, n := range asked {
		total += n
	}
	regular := r.Classes[1].Asked
	if len(asked) > maxTenants+2 || total != regular || asked[NoTenant] < regular/20 || asked[OtherTenants] < regular/10 {
		t.Errorf("%d of %d requests in %d groups, %d without a tenant, %d of others", total, regular, len(asked), asked[NoTenant], asked[OtherTenants])
	}
}
