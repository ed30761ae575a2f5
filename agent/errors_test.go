package agent

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"fairlead/agent/engine"
	"fairlead/wire"
)

// TestErrors: what the engine and the store say, what the client and the broker hear.
func TestErrors(t *testing.T) {
	w := newWorldWithStreams(t)
	eng := newFake()
	r := w.start(eng, nil)
	r.ready()
	refused := &engine.RequestError{Status: 422, ContentType: "text/x", Body: []byte("too odd")}
	for name, tc := range map[string]struct {
		body   string
		header map[string]string
		end    *fakeEnd
		claim  wire.Claim
		chunk  string
		code   int
		reason wire.Reason
		detail string
		data   string
	}{
		"engine error":      {body: "{}", end: &fakeEnd{err: errors.New("out of memory")}, code: 502, reason: wire.EngineError, detail: "out of memory"},
		"refused":           {body: "{}", end: &fakeEnd{err: refused}, code: 422, reason: wire.InvalidRequest, detail: "status 422", data: "too odd"},
		"too large for it":  {body: "{}", end: &fakeEnd{err: &engine.RequestError{Status: 413}}, code: 413, reason: wire.TooLarge, detail: "413"},
		"bad body":          {body: `{"stream":1}`, code: 400, reason: wire.InvalidRequest, detail: "stream is a JSON number"},
		"bad header":        {body: "{}", header: map[string]string{wire.HeaderTTL: "soon"}, code: 400, reason: wire.InvalidRequest, detail: wire.HeaderTTL},
		"foreign reference": {body: "{}", header: map[string]string{"Fairlead-Object": "bucket/key"}, code: 400, reason: wire.InvalidRequest, detail: "Fairlead-Object"},
		"late already":      {body: "{}", claim: wire.Claim{RemainingMS: -1}, code: 504, reason: wire.DeadlineExceeded, detail: "deadline"},
		"answer too large":  {body: "{}", end: &fakeEnd{res: engine.Result{Body: make([]byte, 80<<10)}}, code: 413, reason: wire.TooLarge, detail: "65536 bytes"},
		"chunk too large":   {body: streaming, chunk: strings.Repeat("x", 80<<10), code: 413, reason: wire.TooLarge, detail: "a chunk of the answer"},
	} {
		t.Run(name, func(t *testing.T) {
			defer w.in(t)()
			subject, results := w.inbox()
			header := reply(subject)
			for k, v := range tc.header {
				header[k] = v
			}
			tc.claim.ID = w.ask(request{tc.body, header})
			r.hand(tc.claim)
			if tc.chunk != "" {
				call := receive(t, "the call", eng.calls, nil)
				call.end <- fakeEnd{err: call.emit([]byte(tc.chunk))}
			} else if tc.end != nil {
				receive(t, "the call", eng.calls, nil).end <- *tc.end
			}
			m, raw := w.next(results)
			if m.Failure == nil || m.Failure.Code != tc.code || m.Failure.Reason != tc.reason || !strings.Contains(m.Failure.Detail, tc.detail) {
				t.Errorf("client got %+v, want %d %s with %q", m.Failure, tc.code, tc.reason, tc.detail)
			}
			if string(raw.Data) != tc.data {
				t.Errorf("client got %q, want %q", raw.Data, tc.data)
			}
			if d := r.done(); d.Status != wire.StatusError || d.Reason != tc.reason || d.ID != tc.claim.ID || !strings.Contains(d.Error, tc.detail) {
				t.Errorf("DONE %+v", d)
			}
		})
	}
	r.idle()
}

func TestRequestGone(t *testing.T) {
	w := newWorldWithStreams(t)
	r := w.start(newFake(), nil)
	r.ready()
	id := w.ask(request{body: "{}"})
	w.must(w.st.Delete(t.Context(), w.st.Names.StreamREQ(), id))
	r.hand(wire.Claim{ID: id, RemainingMS: 3_600_000})
	if d := r.done(); d.Status != wire.StatusGone || d.Reason != "" {
		t.Errorf("DONE %+v, want gone", d)
	}
	r.hand(wire.Claim{ID: id, Attempt: 2, RemainingMS: -5})
	if d := r.done(); d.Status != wire.StatusGone || d.Reason != wire.DeadlineExceeded {
		t.Errorf("DONE %+v, want gone past its deadline", d)
	}
	r.idle()
}

func TestDeadlineEndsTheCall(t *testing.T) {
	w := newWorldWithStreams(t)
	eng := newFake()
	r := w.start(eng, nil)
	r.ready()
	subject, results := w.inbox()
	r.hand(wire.Claim{ID: w.ask(request{streaming, reply(subject)}), RemainingMS: 50})
	receive(t, "the call", eng.calls, nil)
	if m, _ := w.next(results); m.Failure == nil || m.Failure.Reason != wire.DeadlineExceeded || m.Failure.Code != 504 {
		t.Errorf("client got %+v", m)
	}
	if d := r.done(); d.Reason != wire.DeadlineExceeded || d.Status != wire.StatusError {
		t.Errorf("DONE %+v", d)
	}
}

// TestHang: an engine that never ends is given up, and its slot is free again.
func TestHang(t *testing.T) {
	w := newWorldWithStreams(t)
	eng := newFake()
	r := w.start(eng, func(c *Config) { c.AttemptTimeout = 50 * time.Millisecond })
	r.ready()
	subject, results := w.inbox()
	r.hand(wire.Claim{ID: w.ask(request{streaming, reply(subject)})})
	receive(t, "the call", eng.calls, nil)
	if m, _ := w.next(results); m.Failure == nil || m.Failure.Reason != wire.EngineError || !strings.Contains(m.Failure.Detail, "limit of 50ms") {
		t.Errorf("client got %+v", m)
	}
	if d := r.done(); d.Reason != wire.EngineError || d.Status != wire.StatusError {
		t.Errorf("DONE %+v", d)
	}
	r.idle()
}

func TestCancel(t *testing.T) {
	w := newWorldWithStreams(t)
	eng := newFake()
	r := w.start(eng, nil)
	r.ready()
	subject, results := w.inbox()
	id := w.ask(request{streaming, reply(subject)})
	r.hand(wire.Claim{ID: id, Attempt: 2})
	call := receive(t, "the call", eng.calls, nil)
	w.must(call.emit([]byte("{}")))
	w.next(results)
	receive(t, "a heartbeat with a first token", r.beats, func(h *wire.Heartbeat) bool { return len(h.InFlight) == 1 && h.InFlight[0].First })

	r.command(wire.Command{Kind: wire.CommandCancel, Epoch: 7, ID: id, Attempt: 1}) // another attempt
	r.command(wire.Command{Kind: "dance", Epoch: 7})                                // a newer broker's
	r.command(wire.Command{Kind: wire.CommandCancel, Epoch: 6, ID: id, Attempt: 2}) // a deposed broker's
	other := w.ask(request{streaming, reply(subject)})
	r.hand(wire.Claim{ID: other, Attempt: 1})
	second := receive(t, "the second call", eng.calls, nil)
	r.command(wire.Command{Kind: wire.CommandCancel, Epoch: 7, ID: other, Attempt: 1})
	<-second.ctx.Done()
	if d := r.done(); d.ID != other || d.Status != wire.StatusCancelled || d.Reason != wire.Cancelled {
		t.Errorf("DONE %+v, want the second cancelled", d)
	}
	if call.ctx.Err() != nil {
		t.Fatal("the first call was cancelled by a command that is not for it")
	}
	r.command(wire.Command{Kind: wire.CommandCancel, Epoch: 8, ID: id, Attempt: 2})
	<-call.ctx.Done()
	if d := r.done(); d.ID != id || d.Status != wire.StatusCancelled {
		t.Errorf("DONE %+v, want the first cancelled", d)
	}
	r.idle()
	if len(results) != 0 {
		t.Error("a cancelled agent spoke to the client")
	}
}

func TestBusyGivesBack(t *testing.T) {
	w := newWorldWithStreams(t)
	eng := newFake()
	r := w.start(eng, nil)
	r.ready()
	subject, results := w.inbox()
	id := w.ask(request{streaming, reply(subject)})
	r.hand(wire.Claim{ID: id})
	receive(t, "the call", eng.calls, nil).end <- fakeEnd{err: &engine.BusyError{RetryAfter: time.Minute}}
	if d := r.done(); d.Status != wire.StatusReturned || d.RetryAfterMS != 60_000 || d.Status.Final() {
		t.Errorf("DONE %+v", d)
	}
	receive(t, "a held heartbeat", r.beats, func(h *wire.Heartbeat) bool { return h.HoldMS > 50_000 && h.HoldMS <= 60_000 })
	r.idle()
	if len(results) != 0 {
		t.Error("the client heard of a request that was given back")
	}
}

func TestUnavailableEngine(t *testing.T) {
	w := newWorldWithStreams(t)
	eng := newFake()
	r := w.start(eng, nil)
	r.ready()
	r.hand(wire.Claim{ID: w.ask(request{body: "{}"})})
	eng.setSick(errors.New("no power"))
	receive(t, "the call", eng.calls, nil).end <- fakeEnd{err: &engine.UnavailableError{Err: errors.New("refused")}}
	if d := r.done(); d.Status != wire.StatusReturned || d.RetryAfterMS <= 0 {
		t.Errorf("DONE %+v", d)
	}
	receive(t, "a sick heartbeat", r.beats, func(h *wire.Heartbeat) bool { return !h.Healthy && len(h.Models) == 1 })
	if err := r.agent.Ready(); err == nil || !strings.Contains(err.Error(), "no power") {
		t.Errorf("ready says %v", err)
	}
	eng.setSick(nil)
	r.ready()
}

func TestNobodyListens(t *testing.T) {
	w := newWorldWithStreams(t)
	eng := newFake()
	eng.script = func(ctx context.Context, _ engine.Request, emit engine.Emit) (engine.Result, error) {
		for ctx.Err() == nil {
			if err := emit([]byte(`{}`)); err != nil {
				return engine.Result{}, err
			}
			select {
			case <-time.After(time.Millisecond):
			case <-ctx.Done():
			}
		}
		return engine.Result{}, ctx.Err()
	}
	r := w.start(eng, func(c *Config) { c.ListenGrace = 100 * time.Millisecond })
	r.ready()
	subject, results := w.inbox()
	heard := r.hand(wire.Claim{ID: w.ask(request{streaming, reply(subject)})})
	r.hand(wire.Claim{ID: w.ask(request{streaming, reply(nats.NewInbox())})})
	if d := r.done(); d.Status != wire.StatusError || d.Reason != wire.Cancelled || d.Claim == heard {
		t.Errorf("DONE %+v, want the unheard one cancelled", d)
	}
	for len(results) > 0 {
		<-results
	}
	if m, _ := w.next(results); m.Final {
		t.Errorf("the stream that is heard has ended: %+v", m)
	}
}

func TestEngineDownFromTheStart(t *testing.T) {
	w := newWorldWithStreams(t)
	eng := newFake()
	eng.setSick(errors.New("no power"))
	r := w.start(eng, nil)
	line := receive(t, "a warning", r.log, func(line string) bool { return strings.Contains(line, "the engine is not healthy: no power") })
	if !strings.Contains(line, `"level":"warn"`) || !strings.Contains(line, "start the engine") {
		t.Errorf("the log says %s, want a warning with what would help", line)
	}
	eng.setSick(nil)
	r.log.says(t, "the engine is healthy")
}

type crowded struct{ *fake }

func (crowded) Models(context.Context) ([]string, error) { return make([]string, 1025), nil }

// TestCrowdedEngine: more models than brokers hear of are not announced at all.
func TestCrowdedEngine(t *testing.T) {
	l := &loop{Agent: &Agent{cfg: Config{Engine: crowded{newFake()}}}}
	if h := l.check(t.Context()); h.err == nil || !strings.Contains(h.err.Error(), "1025") || h.help == "" {
		t.Errorf("got %+v", h)
	}
}
