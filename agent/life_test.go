package agent

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"

	"fairlead/wire"
)

// wait waits for the end of the agent.
func (r *rig) wait() error {
	r.t.Helper()
	err := receive(r.t, "the end of the agent", r.ended, nil)
	r.ended <- nil // for the cleanup
	return err
}

// statuses collects n DONEs by request.
func (r *rig) statuses(n int) map[uint64]wire.Done {
	r.t.Helper()
	m := map[uint64]wire.Done{}
	for range n {
		d := r.done()
		m[d.ID] = d
	}
	return m
}

func TestDrain(t *testing.T) {
	w := newWorldWithStreams(t)
	eng := newFake()
	r := w.start(eng, nil)
	r.ready()
	subject, results := w.inbox()
	var ids []uint64
	for range 3 {
		ids = append(ids, w.ask(request{"{}", reply(subject)}))
		r.hand(wire.Claim{ID: ids[len(ids)-1]})
	}
	a, b := receive(t, "a call", eng.calls, nil), receive(t, "a call", eng.calls, nil)
	receive(t, "three claims in hand", r.beats, func(h *wire.Heartbeat) bool { return len(h.InFlight) == 3 })
	r.stop()
	if d := r.done(); d.ID != ids[2] || d.Status != wire.StatusReturned || d.RetryAfterMS != 0 {
		t.Errorf("DONE %+v, want the waiting one given back", d)
	}
	receive(t, "a draining heartbeat", r.beats, func(h *wire.Heartbeat) bool { return h.Draining && len(h.InFlight) == 2 })
	a.end <- fakeEnd{}
	b.end <- fakeEnd{}
	for _, d := range r.statuses(2) {
		if d.Status != wire.StatusOK {
			t.Errorf("DONE %+v, want it finished", d)
		}
	}
	for range 2 {
		if m, _ := w.next(results); !m.Final || m.Failure != nil {
			t.Errorf("client got %+v", m)
		}
	}
	if err := r.wait(); err != nil {
		t.Error(err)
	}
	receive(t, "the last heartbeat", r.beats, func(h *wire.Heartbeat) bool { return h.Draining && len(h.InFlight) == 0 })
	w.noClaims()
	work, err := w.st.JS.Stream(t.Context(), w.st.Names.StreamWORK())
	w.must(err)
	for c := range work.ListConsumers(t.Context()).Info() {
		t.Errorf("consumer %s is left", c.Name)
	}
}

func TestAbort(t *testing.T) {
	w := newWorldWithStreams(t)
	eng := newFake()
	r := w.start(eng, func(c *Config) { c.Slots = 3 })
	r.ready()
	subject, results := w.inbox()
	always := reply(subject)
	always[wire.HeaderRetry] = "always"
	untouched := w.ask(request{streaming, reply(subject)})
	begun := w.ask(request{streaming, reply(subject)})
	again := w.ask(request{streaming, always})
	for _, id := range []uint64{untouched, begun, again} {
		r.hand(wire.Claim{ID: id})
		if call := receive(t, "a call", eng.calls, nil); id != untouched {
			w.must(call.emit([]byte("{}")))
			w.next(results)
		}
	}
	r.abort()
	got := r.statuses(3)
	if d := got[untouched]; d.Status != wire.StatusReturned {
		t.Errorf("DONE of the untouched one %+v", d)
	}
	if d := got[begun]; d.Status != wire.StatusError || d.Reason != wire.WorkerLost {
		t.Errorf("DONE of the one begun %+v", d)
	}
	if d := got[again]; d.Status != wire.StatusReturned {
		t.Errorf("DONE of the one to be retried %+v", d)
	}
	if m, _ := w.next(results); m.ID != begun || m.Index != 1 || m.Failure == nil || m.Failure.Reason != wire.WorkerLost {
		t.Errorf("client got %+v", m)
	}
	if err := r.wait(); err != nil {
		t.Error(err)
	}
	w.noClaims()
}

func TestAbortWhileWaitingForStreams(t *testing.T) {
	w := newWorld(t)
	r := w.start(newFake(), nil)
	r.log.says(t, "waiting for stream")
	if err := r.agent.Ready(); err == nil || !strings.Contains(err.Error(), "waiting for stream") {
		t.Errorf("ready says %v", err)
	}
	r.abort()
	if err := r.wait(); err != nil {
		t.Error(err)
	}
}

func TestAbortWithoutServer(t *testing.T) {
	w := newWorldWithStreams(t)
	eng := newFake()
	r := w.start(eng, func(c *Config) { c.LeaveGrace = 50 * time.Millisecond })
	r.ready()
	r.hand(wire.Claim{ID: w.ask(request{body: "{}"})})
	receive(t, "the call", eng.calls, nil)
	w.stopServer()
	r.abort()
	if err := r.wait(); err == nil || !strings.Contains(err.Error(), "1 claims could not be settled") {
		t.Errorf("got %v", err)
	}
	w.startServer()
}

func TestSuperseded(t *testing.T) {
	w := newWorldWithStreams(t)
	eng := newFake()
	r := w.start(eng, nil)
	r.ready()
	subject, results := w.inbox()
	seqs := []uint64{}
	for range 3 {
		seqs = append(seqs, r.hand(wire.Claim{ID: w.ask(request{streaming, reply(subject)})}))
	}
	call := receive(t, "the call", eng.calls, nil)
	w.must(call.emit([]byte("{}")))
	w.next(results)
	r.command(wire.Command{Kind: wire.CommandCancel, Epoch: 9, ID: 1, Attempt: 1})
	r.command(wire.Command{Kind: wire.CommandStop, Epoch: 8, Reason: "of a deposed broker"})
	r.command(wire.Command{Kind: wire.CommandStop, Epoch: 9, Reason: "newer"})
	<-call.ctx.Done()
	if err := r.wait(); !errors.Is(err, ErrSuperseded) {
		t.Errorf("got %v", err)
	}
	w.must(w.nc.Flush())
	if len(r.dones) != 0 || len(results) != 0 {
		t.Errorf("a superseded agent spoke: %d DONE, %d results", len(r.dones), len(results))
	}
	for _, seq := range seqs {
		if _, err := w.st.LeaderGet(t.Context(), w.st.Names.StreamWORK(), seq); err != nil {
			t.Errorf("claim %d: %v, want it still there for the broker", seq, err)
		}
	}
	if err := r.agent.Ready(); !errors.Is(err, ErrSuperseded) {
		t.Errorf("ready says %v", err)
	}
}

func TestIncarnationsRise(t *testing.T) {
	w := newWorldWithStreams(t)
	first := w.start(newFake(), nil)
	first.ready()
	second := w.start(newFake(), nil)
	second.ready()
	receive(t, "a heartbeat of the second", first.beats, func(h *wire.Heartbeat) bool {
		return h.Incarnation == second.agent.Incarnation() && h.Incarnation > first.agent.Incarnation()
	})
	reg, err := w.st.LeaderLast(t.Context(), w.st.Names.StreamWORK(), w.st.Names.Reg("w1"))
	w.must(err)
	var registration wire.Registration
	w.must(wire.Decode(reg.Data, &registration))
	if reg.Seq != second.agent.Incarnation() || registration.Worker != "w1" || registration.PID == 0 {
		t.Errorf("registration %d: %+v", reg.Seq, registration)
	}
}

func TestCancelOfAWaitingClaim(t *testing.T) {
	w := newWorldWithStreams(t)
	eng := newFake()
	r := w.start(eng, func(c *Config) { c.Slots = 1 })
	r.ready()
	r.hand(wire.Claim{ID: w.ask(request{body: "{}"})})
	call := receive(t, "the call", eng.calls, nil)
	second := w.ask(request{body: "{}"})
	seq := r.hand(wire.Claim{ID: second})
	receive(t, "two claims in hand", r.beats, func(h *wire.Heartbeat) bool { return len(h.InFlight) == 2 })
	r.command(wire.Command{Kind: wire.CommandCancel, Epoch: 1, ID: second, Claim: seq, Attempt: 1})
	if d := r.done(); d.ID != second || d.Status != wire.StatusCancelled {
		t.Errorf("DONE %+v, want the waiting one cancelled", d)
	}
	call.end <- fakeEnd{}
	r.done()
	r.idle()
}

func TestGivenConnection(t *testing.T) {
	w := newWorldWithStreams(t)
	eng := newFake()
	eng.script = words
	nc, err := nats.Connect("", nats.InProcessServer(w.srv))
	w.must(err)
	defer nc.Close()
	r := w.start(eng, func(c *Config) { c.Conn = nc })
	r.ready()
	r.hand(wire.Claim{ID: w.ask(request{body: "{}"})})
	r.done()
	r.idle()
	r.hand(wire.Claim{ID: w.ask(request{body: "{}"})})
	r.done()
	nc.Close()
	if err := r.wait(); err == nil || !strings.Contains(err.Error(), "connection to NATS was closed") {
		t.Errorf("got %v", err)
	}
}

func TestNoServer(t *testing.T) {
	lines := make(logLines, 100)
	log := zerolog.New(lines)
	a, err := New(Config{URL: "nats://127.0.0.1:1", Worker: "w", Engine: newFake(), Log: &log})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- a.Run(ctx, t.Context()) }()
	lines.says(t, "NATS does not answer")
	cancel()
	if err := receive(t, "the end", ended, nil); err != nil {
		t.Error(err)
	}
}

func TestHearing(t *testing.T) {
	at := func(ms int) time.Time { return time.UnixMilli(int64(1_000_000 + ms)) }
	const grace = 10 * time.Second
	var h hearing
	if h.silent(at(0), grace) {
		t.Error("silent before anybody said so")
	}
	h.unheard(at(0))
	for ms := 0; ms < 10_000; ms += 500 {
		if h.silent(at(ms), grace) {
			t.Fatalf("silent after %d ms", ms)
		}
		h.unheard(at(ms + 1))
	}
	if !h.silent(at(10_000), grace) {
		t.Error("not silent after the grace")
	}
	h.reset()
	if h.silent(at(10_001), grace) {
		t.Error("silent after a reset")
	}
	h.unheard(at(20_000))
	h.silent(at(20_100), grace) // not complained about
	if h.silent(at(21_200), grace); h.silent(at(40_000), grace) {
		t.Error("silent, although a chunk was heard")
	}
}
