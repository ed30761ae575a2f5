package broker_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"fairlead/broker"
	"fairlead/internal/store"
	"fairlead/wire"
)

func cancelReply(t *testing.T, m *nats.Msg) wire.CancelReply {
	t.Helper()
	var r wire.CancelReply
	if err := json.Unmarshal(m.Data, &r); err != nil {
		t.Fatal(err)
	}
	return r
}

// TestRequestToResult follows one request through every stream.
func TestRequestToResult(t *testing.T) {
	w := newWorld(t)
	b := w.broker(nil)
	w.awaitLeader(b)
	to := w.inbox()
	id := w.request("req.a", to, wire.HeaderInputTokens, "100", wire.HeaderCachedTokens, "40")
	a := w.worker("w1", nil)
	j := a.take()
	if c := j.Claim; c.ID != id || c.Attempt != 1 || c.Input != 100 || c.Cached != 40 || c.Model != "m" || c.Rank != wire.AnyRank {
		t.Fatalf("claim %+v", c)
	}
	j.finish()
	if r, _ := to.next(); !r.Final || r.Usage == nil || r.ID != id {
		t.Fatalf("result %+v", r)
	}
	w.awaitEmpty()
}

// TestSlots: no more claims than slots; a finished one makes room.
func TestSlots(t *testing.T) {
	w := newWorld(t)
	w.awaitLeader(w.broker(nil))
	a := w.worker("w1", func(h *wire.Heartbeat) { h.Slots = 2 })
	for range 5 {
		w.request("req.a", inbox{})
	}
	first, second := a.take(), a.take()
	if !a.idle() {
		t.Fatal("a third claim with two slots")
	}
	first.finish()
	second.finish()
	for range 3 {
		a.take().finish()
	}
	w.awaitEmpty()
}

// TestOneLeads: of several brokers one leads; when it ends, another goes on with
// what it left, in whatever state that is.
func TestOneLeads(t *testing.T) {
	for name, end := range map[string]func(*running){"clean stop": (*running).end, "crash": (*running).kill} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			rs := []*running{w.broker(nil), w.broker(nil), w.broker(nil)}
			leader := w.awaitLeader(rs...)
			a := w.worker("w1", func(h *wire.Heartbeat) { h.Slots = 2 })
			to := w.inbox()
			for range 4 {
				w.request("req.a", to)
			}
			first, second := a.take(), a.take()
			first.report(wire.Done{Status: wire.StatusOK}) // and no ack: the leader's successor must cope
			end(leader)
			epoch, _ := leader.Leading()
			rest := without(rs, leader)
			next := w.awaitLeader(rest...)
			if e, _ := next.Leading(); e <= epoch {
				t.Fatalf("epoch %d after %d", e, epoch)
			}
			first.ack()
			second.finish()
			for range 2 {
				j := a.take()
				if j.Claim.Attempt != 1 {
					t.Fatalf("attempt %d of a request that never ran", j.Claim.Attempt)
				}
				j.finish()
			}
			w.awaitEmpty()
		})
	}
}

func without(rs []*running, x *running) []*running {
	var rest []*running
	for _, r := range rs {
		if r != x {
			rest = append(rest, r)
		}
	}
	return rest
}

// TestLostWorker: a silent worker's claim goes to another one as the next
// attempt, and the old claim leaves WORK.
func TestLostWorker(t *testing.T) {
	w := newWorld(t)
	w.awaitLeader(w.broker(nil))
	a := w.worker("w1", nil)
	to := w.inbox()
	id := w.request("req.a", to)
	a.take()
	a.silence()
	j := w.worker("w2", nil).take()
	if j.Claim.ID != id || j.Claim.Attempt != 2 {
		t.Fatalf("claim %+v", j.Claim)
	}
	j.finish()
	if r, _ := to.next(); r.Attempt != 2 {
		t.Fatalf("result %+v", r)
	}
	w.awaitEmpty()
}

// TestLostAfterFirstToken: a request that had begun to answer is not run again
// behind the client's back.
func TestLostAfterFirstToken(t *testing.T) {
	w := newWorld(t)
	w.awaitLeader(w.broker(nil))
	a := w.worker("w1", nil)
	to := w.inbox()
	id := w.request("req.a", to)
	j := a.take()
	j.firstToken()
	eventually(t, "the broker knows of the first token", func() bool { return prefill(w, "w1") == 0 })
	a.silence()
	to.failure(wire.WorkerLost)
	w.awaitEmpty()
	if got := w.cancel(id); got != wire.CancelDone {
		t.Fatalf("cancel of an ended request: %s", got)
	}
}

func status(w *world) wire.BrokerStatus {
	m, err := w.nc.Request(w.names.CtlStatus(), nil, patience)
	if err != nil {
		w.t.Fatal(err)
	}
	var s wire.BrokerStatus
	if err := json.Unmarshal(m.Data, &s); err != nil {
		w.t.Fatal(err)
	}
	return s
}

func prefill(w *world, name string) int64 {
	for _, s := range status(w).Workers {
		if s.Worker == name {
			return s.PrefillTokens
		}
	}
	return -1
}

// TestDeadLetter: a request whose every attempt loses its worker is kept whole.
func TestDeadLetter(t *testing.T) {
	w := newWorld(t)
	w.awaitLeader(w.broker(nil))
	to := w.inbox()
	id := w.request("req.a", to, "X-Mine", "kept")
	for _, name := range []string{"w1", "w2", "w3"} {
		a := w.worker(name, nil)
		j := a.take()
		eventually(t, "the broker knows that it started", func() bool {
			a.mu.Lock()
			defer a.mu.Unlock()
			return a.beat.Seq > 0 && len(a.beat.InFlight) == 1 && j.Claim.ID == id
		})
		status(w) // answered after that heartbeat
		a.silence()
	}
	to.failure(wire.AttemptsExhausted)
	w.awaitEmpty()
	m, err := w.store.LeaderLast(context.Background(), w.names.StreamDEAD(), w.names.Dead("default"))
	if err != nil {
		t.Fatal(err)
	}
	if string(m.Data) != `{"prompt":"a b c d"}` || m.Header.Get("X-Mine") != "kept" || m.Header.Get(wire.HeaderDeadReason) != string(wire.AttemptsExhausted) ||
		m.Header.Get(wire.HeaderDeadSubject) != "req.a" || m.Header.Get(wire.HeaderDeadWorker) != "w3" {
		t.Fatalf("dead letter %q %v", m.Data, m.Header)
	}
}

// TestCancel: queued, running, ended and never asked.
func TestCancel(t *testing.T) {
	w := newWorld(t)
	w.awaitLeader(w.broker(nil))
	a := w.worker("w1", func(h *wire.Heartbeat) { h.Slots = 1 })
	to := w.inbox()
	runs, waits := w.request("req.a", to), w.request("req.a", to)
	j := a.take()
	commands, err := w.nc.SubscribeSync(w.names.Agent("w1", a.incarnation))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		id   uint64
		want wire.CancelOutcome
	}{{waits, wire.CancelFound}, {runs, wire.CancelFound}, {runs + 1000, wire.CancelUnknown}} {
		if got := w.cancel(c.id); got != c.want {
			t.Errorf("cancel %d: %s, want %s", c.id, got, c.want)
		}
	}
	to.failure(wire.Cancelled)
	to.failure(wire.Cancelled)
	m, err := commands.NextMsg(patience)
	if err != nil {
		t.Fatal(err)
	}
	var c wire.Command
	if err := wire.Decode(m.Data, &c); err != nil || c.Kind != wire.CommandCancel || c.ID != runs || c.Claim != j.seq {
		t.Fatalf("command %+v, %v", c, err)
	}
	j.report(wire.Done{Status: wire.StatusCancelled})
	w.request("req.a", to)
	a.take().finish() // the slot is free again
	w.awaitEmpty()
}

// TestDeposed: whoever believes to lead and does not, stores nothing.
func TestDeposed(t *testing.T) {
	w := newWorld(t)
	old := w.broker(nil)
	w.awaitLeader(old)
	a := w.worker("w1", nil)
	a.take2(t, w)
	before, _ := old.Leading()
	// The lease is taken away behind its back; another one takes over, or it itself anew.
	m, err := w.store.LeaderLast(context.Background(), w.names.StreamWORK(), w.names.Lead())
	if err != nil {
		t.Fatal(err)
	}
	if err := w.store.Delete(context.Background(), w.names.StreamWORK(), m.Seq); err != nil {
		t.Fatal(err)
	}
	next := w.broker(nil)
	var epoch uint64
	eventually(t, "a new term", func() bool {
		for _, b := range []*running{old, next} {
			if e, ok := b.Leading(); ok && e > before {
				epoch = e
			}
		}
		return epoch != 0
	})
	w.request("req.a", inbox{})
	j := a.take()
	if j.Claim.Epoch < epoch {
		t.Fatalf("a claim of epoch %d was stored under epoch %d", j.Claim.Epoch, epoch)
	}
	j.finish()
	w.awaitEmpty()
}

// take2 works off one request, so that the worker is known to be heard.
func (a *worker) take2(t *testing.T, w *world) {
	t.Helper()
	w.request("req.a", inbox{})
	a.take().finish()
}

// TestForeignStream and TestNoJetStream are refused with what would help.
func TestForeignStream(t *testing.T) {
	w := newWorld(t)
	_, err := w.store.JS.CreateStream(context.Background(), jetstream.StreamConfig{Name: "REQ", Subjects: []string{"req.*"}})
	if err != nil {
		t.Fatal(err)
	}
	r := w.broker(nil)
	<-r.done
	var foreign *store.ForeignError
	if !errors.As(r.err, &foreign) || foreign.Field != "subjects" || !strings.Contains(r.err.Error(), "namespace") {
		t.Fatalf("error %v", r.err)
	}
}

// TestConfig names the field at fault.
func TestConfig(t *testing.T) {
	w := newWorld(t)
	for field, change := range map[string]func(*broker.Config){
		"Conn":  func(c *broker.Config) { c.Conn = nil },
		"lease": func(c *broker.Config) { c.Timing.Lease = 1 },
		"renew": func(c *broker.Config) { c.Timing.Renew = c.Timing.Act },
	} {
		cfg := broker.Config{Conn: w.nc, Timing: fast()}
		change(&cfg)
		if _, err := broker.New(cfg); err == nil || !strings.Contains(err.Error(), field) {
			t.Errorf("%s: error %v", field, err)
		}
	}
}
