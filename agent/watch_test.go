package agent

import (
	"context"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"fairlead/agent/engine"
	"fairlead/wire"
)

// isProbe tells a probe from the messages of a result.
func isProbe(m *nats.Msg) bool { return len(m.Data) == 0 && len(m.Header) == 0 }

// TestListenerLeaves: of two clients, to whom nothing has been sent yet, one goes
// away without a word.
func TestListenerLeaves(t *testing.T) {
	for name, body := range map[string]string{"whole": "{}", "stream": streaming} {
		t.Run(name, func(t *testing.T) {
			w := newWorldWithStreams(t)
			eng := newFake()
			r := w.start(eng, func(c *Config) { c.ListenGrace = 100 * time.Millisecond })
			r.ready()
			stays, staying := w.inbox()
			leaving := make(chan *nats.Msg, 1000)
			sub, err := w.nc.ChanSubscribe(nats.NewInbox(), leaving)
			w.must(err)
			w.must(w.nc.Flush())
			calls := map[uint64]*fakeCall{}
			kept, left := w.ask(request{body, reply(stays)}), w.ask(request{body, reply(sub.Subject)})
			for _, id := range []uint64{kept, left} {
				r.hand(wire.Claim{ID: id})
				c := receive(t, "the call", eng.calls, nil)
				calls[c.req.ID] = c
			}
			for _, c := range []chan *nats.Msg{staying, leaving} {
				probe := receive(t, "a probe", c, isProbe)
				if _, err := wire.ParseResult(wire.Header(probe.Header)); err == nil {
					t.Error("a client would take a probe for a part of the answer")
				}
			}
			w.must(sub.Unsubscribe())
			if d := r.done(); d.ID != left || d.Status != wire.StatusError || d.Reason != wire.Cancelled {
				t.Errorf("DONE %+v, want the one that nobody listens to cancelled", d)
			}
			<-calls[left].ctx.Done()
			calls[kept].end <- fakeEnd{res: engine.Result{Usage: usage, Body: []byte("{}")}}
			final := receive(t, "the answer", staying, func(m *nats.Msg) bool { return !isProbe(m) })
			if m, err := wire.ParseResult(wire.Header(final.Header)); err != nil || !m.Final || m.Index != 0 || m.Failure != nil {
				t.Errorf("the other client got %+v, %v", m, err)
			}
			if d := r.done(); d.ID != kept || d.Status != wire.StatusOK {
				t.Errorf("DONE %+v", d)
			}
		})
	}
}

// TestStalledStream: a stream that has begun is probed once it says nothing more.
func TestStalledStream(t *testing.T) {
	w := newWorldWithStreams(t)
	eng := newFake()
	eng.script = func(ctx context.Context, _ engine.Request, emit engine.Emit) (engine.Result, error) {
		if err := emit([]byte("{}")); err != nil {
			return engine.Result{}, err
		}
		<-ctx.Done()
		return engine.Result{}, ctx.Err()
	}
	r := w.start(eng, func(c *Config) { c.ListenGrace = 100 * time.Millisecond })
	r.ready()
	r.hand(wire.Claim{ID: w.ask(request{streaming, reply(nats.NewInbox())})})
	if d := r.done(); d.Status != wire.StatusError || d.Reason != wire.Cancelled {
		t.Errorf("DONE %+v, want it cancelled", d)
	}
}

func TestHearingLooksAgain(t *testing.T) {
	at := func(ms int) time.Time { return time.UnixMilli(int64(1_000_000 + ms)) }
	const grace = 10 * time.Second
	var h hearing
	for _, tc := range []struct {
		unheard bool
		at      int
		grace   time.Duration
		want    time.Duration
	}{
		{at: 0, grace: grace, want: 5 * time.Second},
		{at: 0, grace: 1, want: minProbe}, // never without a pause
		{unheard: true, at: 0, grace: grace, want: 5 * time.Second},
		{at: 7_000, grace: grace, want: 3 * time.Second},
		{at: 9_999, grace: grace, want: probeWait}, // time for a complaint
		{at: 9_999, grace: 100 * time.Millisecond, want: 50 * time.Millisecond},
	} {
		if tc.unheard {
			h.unheard(at(tc.at))
		}
		if got := h.next(at(tc.at), tc.grace); got != tc.want {
			t.Errorf("%d ms after, grace %s: wait %s, want %s", tc.at, tc.grace, got, tc.want)
		}
	}
}
