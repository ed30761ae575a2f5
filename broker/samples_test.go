package broker_test

import (
	"os"
	"strings"
	"testing"

	"fairlead/broker"
	"fairlead/wire"
)

// sample runs a broker with a policy of the examples.
func (w *world) sample(name string) {
	w.t.Helper()
	text, err := os.ReadFile("../examples/" + name + ".yaml")
	if err != nil {
		w.t.Fatal(err)
	}
	w.awaitLeader(w.broker(func(c *broker.Config) { c.Policy = mustPolicy(w.t, string(text)) }))
}

// TestSampleClasses: which class each kind of request meets under the sample
// policies.
func TestSampleClasses(t *testing.T) {
	for policy, cases := range map[string][]struct{ subject, input, cached, class string }{
		"cached-uncached": {
			{"req.standard", "3071", "0", "cached"},
			{"req.standard", "3072", "0", "uncached"},
			{"req.standard", "50000", "46929", "cached"}, // 3071 uncached
			{"req.standard", "50000", "46928", "uncached"},
			{"req.standard", "10", "9999", "cached"},     // no more is cached than there is
			{"req.uncached", "10", "0", "cached"},        // a class of the matrix cannot be chosen by name
			{"req.whatever", "9000", "0", "uncached"},    // the default family, by bucket
			{"req.standard.w1", "9000", "0", "uncached"}, // a pin changes nothing
		},
		"premium-regular": {
			{"req.premium", "512", "0", "premium"},
			{"req.regular", "512", "0", "regular"},
			{"req.Premium", "512", "0", "regular"},
		},
		"first-attempt-retry": {
			{"req.first_attempt", "512", "0", "first_attempt"},
			{"req.retry", "512", "0", "retry"},
			{"req.other", "512", "0", "first_attempt"},
		},
	} {
		t.Run(policy, func(t *testing.T) {
			w := newWorld(t)
			w.sample(policy)
			a := w.worker("w1", func(h *wire.Heartbeat) { h.MaxBatched = 1 << 20 })
			eventually(t, "the worker is known", func() bool { return len(status(w).Workers) == 1 })
			for _, c := range cases {
				w.request(c.subject, inbox{}, wire.HeaderInputTokens, c.input, wire.HeaderCachedTokens, c.cached)
				j := a.take()
				if j.Claim.Class != c.class {
					t.Errorf("%s with %s tokens, %s cached: class %s, want %s", c.subject, c.input, c.cached, j.Claim.Class, c.class)
				}
				j.finish()
			}
			w.awaitEmpty()
		})
	}
}

// TestSampleRejections: a retry is shed at once when nothing is free, a first
// attempt waits; the request beyond a limit is refused, in its class alone.
func TestSampleRejections(t *testing.T) {
	t.Run("first-attempt-retry", func(t *testing.T) {
		w := newWorld(t)
		w.sample("first-attempt-retry")
		a := w.worker("w1", func(h *wire.Heartbeat) { h.Slots = 1 })
		eventually(t, "the worker is known", func() bool { return len(status(w).Workers) == 1 })
		first, retry, waits := w.inbox(), w.inbox(), w.inbox()
		w.request("req.first_attempt", first)
		j := a.take()
		w.request("req.retry", retry)
		if f := retry.failure(wire.QueueFull); f.Code != 429 || !strings.Contains(f.Detail, "retry") {
			t.Errorf("failure %+v", f)
		}
		w.request("req.first_attempt", waits)
		j.finish()
		a.take().finish()
		eventually(t, "there is room", func() bool { return status(w).Workers[0].Used == 0 })
		w.request("req.retry", retry)
		a.take().finish()
		w.awaitEmpty()
	})
	t.Run("premium-regular", func(t *testing.T) {
		w := newWorld(t)
		w.sample("premium-regular")
		to, other := w.inbox(), w.inbox()
		const limit = 1024
		for range limit + 1 {
			w.request("req.premium", to)
		}
		if f := to.failure(wire.QueueFull); !strings.Contains(f.Detail, "request_queue_limit_per_worker") || f.RetryAfter == 0 {
			t.Errorf("failure %+v", f)
		}
		w.request("req.regular", other)
		eventually(t, "regular queues", func() bool {
			for _, c := range status(w).Classes {
				if c.Class == "regular" {
					return c.Queued == 1
				}
			}
			return false
		})
	})
}
