package arbiter

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"fairlead/wire"
)

// TestRetryAfter: the advice is what is ahead over how fast the class is served,
// give or take a tenth, and stays in its bounds.
func TestRetryAfter(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	d := drain{window: drainWindow}
	if got := d.retryAfter(1000, 0, rng); got != unknownRetryAfter {
		t.Errorf("nothing served yet: %v", got)
	}
	now := int64(time.Hour)
	for range 600 { // 1000 tokens a second, for a minute
		d.add(100, now)
		now += int64(100 * time.Millisecond)
	}
	for _, c := range []struct {
		ahead    int64
		from, to time.Duration
	}{
		{0, minRetryAfter, minRetryAfter},
		{20_000, 17 * time.Second, 23 * time.Second},
		{1 << 60, maxRetryAfter, maxRetryAfter},
	} {
		for range 100 {
			if got := d.retryAfter(c.ahead, now, rng); got < c.from || got > c.to {
				t.Errorf("%d tokens ahead: %v, want %v to %v", c.ahead, got, c.from, c.to)
			}
		}
	}
	if late := d.perSecond(now + int64(time.Minute)); late > 10 {
		t.Errorf("idle for a minute, and still %.0f tokens a second", late)
	}
}

// TestRetryAfterIdle: a class that comes back after it was idle is as fast as it
// shows, and one that only got nothing for long is slow.
func TestRetryAfterIdle(t *testing.T) {
	for _, c := range []struct {
		name   string
		waited time.Duration // until it is served again
		want   float64       // tokens a second, about
	}{{"idle", 0, 1000}, {"starved", time.Hour, 95}} {
		t.Run(c.name, func(t *testing.T) {
			d := drain{window: drainWindow}
			now := int64(time.Hour)
			serve := func(waited time.Duration) { // 1000 tokens a second, for a second
				for range 10 {
					d.wake(now-int64(waited), now)
					d.add(100, now)
					now += int64(100 * time.Millisecond)
				}
			}
			serve(0)
			now += int64(time.Hour)
			serve(c.waited)
			if got := d.perSecond(now); got < 0.9*c.want || got > 1.1*c.want {
				t.Errorf("%.0f tokens a second, want about %.0f", got, c.want)
			}
		})
	}
}

// TestRetryAfterCached: what waits takes its time also when all of it is cached.
func TestRetryAfterCached(t *testing.T) {
	a := New(Config{})
	now := time.Unix(1_700_000_000, 0)
	a.Step(now, Recovered{})
	c := a.ring("m").classes[0]
	c.drain.add(10, a.now)
	now = now.Add(10 * time.Second) // one token every ten seconds, by then about
	for id := uint64(1); id <= 10; id++ {
		a.Step(now, Arrived{ID: id, At: now, Request: wire.Request{Model: "m", Input: 100, Cached: 100, Rank: wire.AnyRank}})
	}
	if got := a.retryAfter(c); got <= 2*minRetryAfter {
		t.Errorf("10 cached requests are ahead: %v", got)
	}
}

// TestDeadlinesOfEndedRequests: entries of requests that ended long before their
// time to live do not pile up.
func TestDeadlinesOfEndedRequests(t *testing.T) {
	a := New(Config{})
	now := time.Unix(1_700_000_000, 0)
	a.Step(now, Recovered{})
	a.Step(now, Beat{wire.Heartbeat{Worker: "w", Incarnation: 1, Seq: 1, IntervalMS: 1000, Healthy: true, Models: []string{"m"}, Slots: 1}})
	for id := uint64(1); id <= 20*slack; id++ {
		a.Step(now, Arrived{ID: id, At: now, Request: wire.Request{Model: "m", TTL: 24 * time.Hour, Rank: wire.AnyRank}})
		a.Step(now, HandedOut{ID: id, Attempt: 1, Seq: id})
		a.Step(now, Done{Seq: id, Done: wire.Done{ID: id, Attempt: 1, Claim: id, Worker: "w", Incarnation: 1, Status: wire.StatusOK}})
	}
	if n := len(a.expiry.heap); n > slack {
		t.Errorf("%d deadlines are kept for no request", n)
	}
	if a.Pending() != 0 {
		t.Errorf("%d requests are left", a.Pending())
	}
}

func TestFifo(t *testing.T) {
	var f fifo[int]
	next, want := 0, 0
	for round := range 1000 { // never empty for long, so that only moving down keeps it small
		for range 3 {
			f.push(next)
			next++
		}
		for range 3 - min(1, max(0, 5-round)) {
			if got := f.pop(); got != want {
				t.Fatalf("popped %d, want %d", got, want)
			}
			want++
		}
		if f.len() != next-want {
			t.Fatalf("%d items, want %d", f.len(), next-want)
		}
	}
	if cap(f.items) > 64 {
		t.Errorf("room for %d items, and never more than %d waited", cap(f.items), 10)
	}
}

// TestHugeLimit: a limit times the workers may not fit.
func TestHugeLimit(t *testing.T) {
	if got := saturate(1<<62, 8); got != 1<<63-1 {
		t.Errorf("2^62 · 8 is %d", got)
	}
	if got := saturate(3, 4); got != 12 {
		t.Errorf("3 · 4 is %d", got)
	}
}

// TestHugeRank: a claim that names one of two thousand million ranks makes no room for
// them.
func TestHugeRank(t *testing.T) {
	a := New(Config{})
	now := time.Unix(1_700_000_000, 0)
	claim := wire.Claim{ID: 1, Attempt: 1, Class: "a", Model: "m", Rank: math.MaxInt32}
	a.Step(now, ClaimFound{Seq: 1, Worker: "w", Incarnation: 1, Claim: claim})
	a.Step(now, Arrived{ID: 1, At: now, Request: wire.Request{Model: "m", Rank: wire.AnyRank}})
	if n := len(a.fleet.named("w").ranks); n != mostRanks {
		t.Errorf("%d ranks, want the most that a worker may have, %d", n, mostRanks)
	}
}
