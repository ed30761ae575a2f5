package agent

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"fairlead/agent/engine"
	"fairlead/internal/store"
	"fairlead/wire"
)

// TestBodies: a body that the request names in the bucket reaches the engine, and is
// removed when the request has ended here; when it may run again it stays.
func TestBodies(t *testing.T) {
	w := newWorldWithStreams(t)
	eng := newFake()
	r := w.start(eng, func(c *Config) { c.MaxBody, c.BodyGrace = 300<<10, 10*time.Millisecond })
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

// elected stands between an agent and JetStream, under the name "elected", and answers as
// a just-elected leader of the bucket may: that there is no such message, as often as
// stale says. No election can be had at will.
func (w *world) elected(stale int32) {
	var said atomic.Int32
	_, err := w.nc.Subscribe("elected.>", func(m *nats.Msg) {
		call := strings.TrimPrefix(m.Subject, "elected.")
		if strings.HasPrefix(call, "STREAM.MSG.GET.OBJ_") && said.Add(1) <= stale {
			w.check(m.Respond([]byte(`{"error":{"code":404,"err_code":10037,"description":"no message found"}}`)))
			return
		}
		w.check(w.nc.PublishMsg(&nats.Msg{Subject: "$JS.API." + call, Reply: m.Reply, Header: m.Header, Data: m.Data}))
	})
	w.must(err)
	w.must(w.nc.Flush())
}

// TestBodyOfAnElectedLeader: a body that such a leader does not show yet is no reason to
// refuse the request.
func TestBodyOfAnElectedLeader(t *testing.T) {
	w := newWorldWithStreams(t)
	w.elected(3)
	eng := newFake()
	r := w.start(eng, func(c *Config) { c.APIPrefix = "elected" })
	r.ready()
	w.must(w.st.PutBody(t.Context(), "there", []byte(`{"prompt":"x"}`)))
	subject, _ := w.inbox()
	r.hand(wire.Claim{ID: w.ask(request{header: map[string]string{
		wire.HeaderReplyTo: subject, wire.HeaderBody: "there", wire.HeaderBodySize: "14",
	}})})
	call := receive(t, "the call", eng.calls, nil)
	if string(call.req.Body) != `{"prompt":"x"}` {
		t.Errorf("the engine got %s", call.req.Body)
	}
	call.end <- fakeEnd{res: engine.Result{Body: []byte("{}")}}
	r.done()
	r.idle()
}
