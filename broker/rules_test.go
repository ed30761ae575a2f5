package broker_test

import (
	"testing"
	"time"

	"fairlead/broker"
	"fairlead/wire"
)

// TestDisplaced: who makes room for a higher tier is told so, and when to come
// back.
func TestDisplaced(t *testing.T) {
	w := newWorld(t)
	w.awaitLeader(w.broker(func(c *broker.Config) {
		c.Policy = mustPolicy(t, oneClass(", displace: true, request_queue_limit_per_worker: 1"))
	}))
	low, high := w.inbox(), w.inbox()
	w.request("req.a", low)
	w.request("req.a", high, wire.HeaderStrictPriority, "1")
	f := low.failure(wire.Displaced)
	if f.Code != 429 || f.RetryAfter < time.Second {
		t.Errorf("%+v, want 429 and a time to wait", f)
	}
	w.worker("w1", nil).take().finish()
	if r, _ := high.next(); !r.Final || r.Failure != nil {
		t.Errorf("%+v, want a result", r)
	}
	w.awaitEmpty()
}

// TestShed: a request that cannot be in time any more is told so instead of being
// served.
func TestShed(t *testing.T) {
	w := newWorld(t)
	w.awaitLeader(w.broker(func(c *broker.Config) { c.Policy = mustPolicy(t, oneClass(", queue_policy: edf, shed: true")) }))
	a := w.worker("w1", func(h *wire.Heartbeat) { h.Speed = 100 })
	late, fine := w.inbox(), w.inbox()
	w.request("req.a", late, wire.HeaderTTL, "1m", wire.HeaderInputTokens, "60000") // ten minutes of work
	w.request("req.a", fine, wire.HeaderTTL, "1m", wire.HeaderInputTokens, "60")
	if f := late.failure(wire.Shed); f.Code != 504 {
		t.Errorf("%+v, want 504", f)
	}
	a.take().finish()
	if r, _ := fine.next(); !r.Final || r.Failure != nil {
		t.Errorf("%+v, want a result", r)
	}
	w.awaitEmpty()
}

// TestTurnsOfTenants: a flood of one tenant does not stand before another.
func TestTurnsOfTenants(t *testing.T) {
	w := newWorld(t)
	w.awaitLeader(w.broker(func(c *broker.Config) { c.Policy = mustPolicy(t, oneClass(", tenants: true")) }))
	for range 5 {
		w.request("req.a", inbox{}, wire.HeaderTenant, "flood", wire.HeaderInputTokens, "100")
	}
	calm := w.request("req.a", inbox{}, wire.HeaderTenant, "calm", wire.HeaderInputTokens, "100")
	eventually(t, "all are queued", func() bool {
		c := status(w).Classes
		return len(c) == 1 && c[0].Queued == 6 && c[0].Tenants == 2
	})
	a := w.worker("w1", func(h *wire.Heartbeat) { h.Slots = 1 })
	before := 0
	for range 6 {
		j := a.take()
		if j.Claim.ID == calm {
			break
		}
		before++
		j.finish()
	}
	if before > 1 {
		t.Errorf("%d requests of the flood were served first, want 1 at most", before)
	}
}
