package agent

import (
	"context"
	"testing"
	"time"

	"fairlead/agent/engine"
	"fairlead/wire"
)

// given waits for an event of a request, and fails when another of it or of
// another request is prefilled before.
func (r *rig) given(id uint64, kind wire.EventKind) {
	r.t.Helper()
	receive(r.t, string(kind), r.events, func(e *wire.Event) bool {
		match := e.ID == id && e.Kind == kind
		if e.Kind == wire.EventPrefilled && !match {
			r.t.Errorf("request %d is prefilled; want %s of %d", e.ID, kind, id)
		}
		return match
	})
}

// flight waits for a heartbeat with one claim that has started.
func (r *rig) flight(id uint64, ok func(f wire.InFlight) bool) *wire.Heartbeat {
	r.t.Helper()
	return receive(r.t, "the claim in a heartbeat", r.beats, func(h *wire.Heartbeat) bool {
		return len(h.InFlight) == 1 && h.InFlight[0].ID == id && (ok == nil || ok(h.InFlight[0]))
	})
}

func isPrefilled(f wire.InFlight) bool { return f.Prefilled }

// begin hands out a request of 1000 uncached tokens and returns its call.
func (r *rig) begin(eng *fake, body string) (uint64, *fakeCall) {
	r.t.Helper()
	id := r.ask(request{body: body})
	r.hand(wire.Claim{ID: id, Input: 1200, Cached: 200})
	return id, receive(r.t, "the call", eng.calls, nil)
}

func (r *rig) finish(c *fakeCall) {
	r.t.Helper()
	c.end <- fakeEnd{res: engine.Result{Usage: usage, Body: []byte("{}")}}
	if d := r.done(); d.Status != wire.StatusOK {
		r.t.Errorf("DONE %+v", d)
	}
}

func TestPrefillByDeclaredSpeed(t *testing.T) {
	w := newWorldWithStreams(t)
	eng := newFake()
	r := w.start(eng, func(c *Config) { c.Speed = 10_000 })
	r.ready()
	id, call := r.begin(eng, "{}")
	r.given(id, wire.EventPrefilled)
	h := r.flight(id, isPrefilled)
	if h.InFlight[0].First || h.PrefillTokens != 0 || h.DecodeBlocks != 75 {
		t.Errorf("heartbeat %+v; want no first token, no prefill, 75 blocks", h)
	}
	r.finish(call)

	id, call = r.begin(eng, streaming) // its first token will tell
	if call.req.Prefilled != nil {
		t.Error("the engine is asked to tell the end of a stream's prefill")
	}
	r.flight(id, nil)
	if h := r.flight(id, nil); h.InFlight[0].Prefilled || h.PrefillTokens != 1000 {
		t.Errorf("heartbeat %+v; want the stream in its prefill", h)
	}
	r.finish(call)
}

func TestPrefillByLearnedSpeed(t *testing.T) {
	w := newWorldWithStreams(t)
	eng := newFake()
	r := w.start(eng, nil)
	r.ready()
	_, unknown := r.begin(eng, "{}")
	r.finish(unknown)

	id := w.ask(request{body: streaming})
	eng.script = func(_ context.Context, _ engine.Request, emit engine.Emit) (engine.Result, error) {
		return engine.Result{Usage: usage}, emit([]byte("{}"))
	}
	r.hand(wire.Claim{ID: id, Input: 1000})
	r.given(id, wire.EventFirstToken) // and nothing was known of the one before
	r.done()
	eng.script = nil

	id, call := r.begin(eng, "{}")
	r.given(id, wire.EventPrefilled)
	r.finish(call)
}

// TestEngineTells: an engine that tells is believed, once for each request, and
// nothing is estimated for it from then on.
func TestEngineTells(t *testing.T) {
	w := newWorldWithStreams(t)
	eng := newFake()
	r := w.start(eng, func(c *Config) { c.Speed = 1e9 })
	r.ready()
	id, call := r.begin(eng, "{}")
	r.given(id, wire.EventPrefilled) // the estimate: it has not told yet
	call.req.Prefilled()
	r.finish(call)

	id, call = r.begin(eng, "{}")
	r.given(id, wire.EventStarted) // and nothing twice of the one before
	for range 2 {
		if h := r.flight(id, nil); h.InFlight[0].Prefilled {
			t.Error("prefilled before the engine said so")
		}
	}
	call.req.Prefilled()
	r.given(id, wire.EventPrefilled)
	r.flight(id, isPrefilled)
	r.finish(call)
}

func TestEstimate(t *testing.T) {
	e := &entry{claim: wire.Claim{Input: 1200, Cached: 200}}
	cached := &entry{claim: wire.Claim{Input: 10, Cached: 10}}
	for name, tc := range map[string]struct {
		speed float64
		pace  pace
		tells bool
		e     *entry
		want  time.Duration
	}{
		"unknown":       {e: e},
		"declared":      {e: e, speed: 500, pace: pace{1, 1}, want: 2 * time.Second},
		"learned":       {e: e, pace: pace{1000, 4}, want: 4 * time.Second},
		"told":          {e: e, speed: 500, tells: true},
		"no tokens":     {e: cached, speed: 500, want: 2 * time.Millisecond},
		"beyond a call": {e: e, speed: 1e-300},
		"at once":       {e: e, speed: 1e300, want: 1},
	} {
		l := &loop{Agent: &Agent{cfg: Config{Speed: tc.speed, AttemptTimeout: time.Hour}}, pace: tc.pace, tells: tc.tells}
		if got := l.estimate(tc.e); got != tc.want {
			t.Errorf("%s: %s, want %s", name, got, tc.want)
		}
	}
	var p pace
	for range 1000 {
		p.add(100, time.Second)
	}
	for range 200 {
		p.add(200, time.Second)
	}
	if s := p.tokens / p.seconds; s < 199 || s > 200 {
		t.Errorf("learned %v tokens/s, want the newer 200", s)
	}
}
