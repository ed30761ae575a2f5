package broker_test

import (
	"context"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/prometheus/client_golang/prometheus"

	"fairlead/broker"
	"fairlead/wire"
)

// once is a policy by which a request that lost its worker is given up.
const once = "max_attempts: 1\n"

// mortal runs a broker by such a policy.
func (w *world) mortal(reg prometheus.Registerer) {
	w.t.Helper()
	w.awaitLeader(w.broker(func(c *broker.Config) {
		c.Registry = reg
		c.Policy = mustPolicy(w.t, once+oneClass(""))
	}))
}

// die takes requests, lets the broker know that they have started, and falls silent.
func (a *worker) die(n int) {
	a.w.t.Helper()
	for range n {
		a.take()
	}
	a.mu.Lock()
	beats := a.beat.Seq
	a.mu.Unlock()
	eventually(a.w.t, "the broker hears what has started", func() bool {
		a.mu.Lock()
		defer a.mu.Unlock()
		return a.beat.Seq > beats+1
	})
	status(a.w) // answered after that heartbeat
	a.silence()
}

// TestFullDead: dead letters wait for room, and keep nobody else waiting.
func TestFullDead(t *testing.T) {
	const given = 40 // more than the broker has workers for jobs
	w := newWorld(t)
	w.mortal(nil)
	ctx := context.Background()
	dead, err := w.store.JS.Stream(ctx, w.names.StreamDEAD())
	if err != nil {
		t.Fatal(err)
	}
	cfg := dead.CachedInfo().Config
	room := cfg.MaxBytes
	cfg.MaxBytes = 1
	if _, err := w.store.JS.UpdateStream(ctx, cfg); err != nil {
		t.Fatal(err)
	}
	a := w.worker("w1", func(h *wire.Heartbeat) { h.Slots = given })
	gone := w.inbox()
	for range given {
		w.request("req.a", gone)
	}
	a.die(given)
	work, err := w.store.JS.Stream(ctx, w.names.StreamWORK())
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "all are given up", func() bool {
		info, err := work.Info(ctx, jetstream.WithSubjectFilter("verdict.>"))
		return err == nil && len(info.State.Subjects) == given
	})
	other := w.inbox()
	if got := w.cancel(w.request("req.a", other)); got != wire.CancelFound {
		t.Fatalf("cancel: %s", got)
	}
	other.failure(wire.Cancelled)
	cfg.MaxBytes = room
	if _, err := w.store.JS.UpdateStream(ctx, cfg); err != nil {
		t.Fatal(err)
	}
	for range given {
		gone.failure(wire.AttemptsExhausted)
	}
	w.awaitEmpty()
}

// TestLargeDead: a request that leaves a dead letter no room for its headers is kept
// without the detail, or told to its client alone.
func TestLargeDead(t *testing.T) {
	w := newWorld(t)
	reg := prometheus.NewRegistry()
	w.mortal(reg)
	const (
		maxHeaders = 1<<16 - 1
		room       = 250 // for all that is added but the detail
	)
	for name, c := range map[string]struct {
		headers bool // they are large, not the body
		spare   int
		kept    bool
	}{
		"body":              {false, 0, false},
		"body with room":    {false, room, true},
		"headers":           {true, 0, false},
		"headers with room": {true, room, true},
	} {
		t.Run(name, func(t *testing.T) {
			to := w.inbox()
			m := nats.NewMsg("req.a")
			m.Header.Set(wire.HeaderReplyTo, to.sub.Subject)
			m.Header.Set("X-Pad", "")
			headers := m.Size() - len(m.Subject)
			if c.headers {
				m.Header.Set("X-Pad", strings.Repeat("x", maxHeaders-headers-c.spare))
				m.Data = []byte(name)
			} else {
				m.Data = make([]byte, int(w.nc.MaxPayload())-headers-c.spare)
			}
			if _, err := w.store.JS.PublishMsg(context.Background(), m); err != nil {
				t.Fatal(err)
			}
			w.worker("w1", nil).die(1)
			to.failure(wire.AttemptsExhausted)
			w.awaitEmpty()
			dead, err := w.store.LeaderLast(context.Background(), w.names.StreamDEAD(), w.names.Dead("a"))
			if c.kept {
				if err != nil || len(dead.Data) != len(m.Data) || dead.Header.Get(wire.HeaderDeadWorker) != "w1" || dead.Header.Get(wire.HeaderDeadDetail) != "" {
					t.Errorf("%v, a dead letter of %d bytes, detail %q", err, len(dead.Data), dead.Header.Get(wire.HeaderDeadDetail))
				}
			} else if err == nil && len(dead.Data) == len(m.Data) {
				t.Error("it was kept after all")
			}
		})
	}
	if got := gathered(t, reg)["dead_letters_lost_total{}"]; got != 2 {
		t.Errorf("%v dead letters are counted as lost", got)
	}
}
