package agent

import (
	"errors"
	"strings"
	"testing"

	"fairlead/agent/engine"
	"fairlead/internal/store"
	"fairlead/wire"
)

// TestBodies: a body that the request names in the bucket reaches the engine, and is
// removed when the request has ended here; when it may run again it stays.
func TestBodies(t *testing.T) {
	w := newWorldWithStreams(t)
	eng := newFake()
	r := w.start(eng, func(c *Config) { c.MaxBody = 300 << 10 })
	r.ready()
	body := `{"prompt":"` + strings.Repeat("x", 256<<10) + `"}` // four times what a message carries
	named := func(name, reply string) request {
		return request{header: map[string]string{wire.HeaderReplyTo: reply, wire.HeaderBody: name, wire.HeaderBodySize: "262144"}}
	}
	kept := func(name string) bool {
		_, err := w.st.GetBody(t.Context(), name, 1<<30)
		return !errors.Is(err, store.ErrNotFound)
	}
	for name, c := range map[string]struct {
		end    fakeEnd
		status wire.Status
		stays  bool
	}{
		"ok":       {end: fakeEnd{res: engine.Result{Body: []byte("{}")}}, status: wire.StatusOK},
		"error":    {end: fakeEnd{err: errors.New("out of memory")}, status: wire.StatusError},
		"returned": {end: fakeEnd{err: &engine.BusyError{RetryAfter: 1}}, status: wire.StatusReturned, stays: true},
	} {
		subject, _ := w.inbox()
		w.must(w.st.PutBody(t.Context(), name, []byte(body)))
		r.hand(wire.Claim{ID: w.ask(named(name, subject))})
		call := receive(t, "the call", eng.calls, nil)
		if string(call.req.Body) != body {
			t.Errorf("%s: the engine got %d bytes", name, len(call.req.Body))
		}
		call.end <- c.end
		if d := r.done(); d.Status != c.status {
			t.Errorf("%s: DONE %+v", name, d)
		}
		r.idle() // after what follows a DONE
		if kept(name) != c.stays {
			t.Errorf("%s: the body is kept: %v; want %v", name, !c.stays, c.stays)
		}
	}
	w.must(w.st.PutBody(t.Context(), "huge", make([]byte, 301<<10)))
	for name, want := range map[string]wire.Reason{"none": wire.InvalidRequest, "huge": wire.TooLarge} {
		subject, results := w.inbox()
		r.hand(wire.Claim{ID: w.ask(named(name, subject))})
		if m, _ := w.next(results); m.Failure == nil || m.Failure.Reason != want {
			t.Errorf("%s: the client got %+v; want %s", name, m.Failure, want)
		}
		r.done()
	}
	r.idle()
}
