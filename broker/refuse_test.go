package broker_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/prometheus/client_golang/prometheus"

	"fairlead/broker"
	"fairlead/wire"
)

// TestBadInput: whatever a frontend sends, it is told what is wrong and nothing
// stays behind.
func TestBadInput(t *testing.T) {
	w := newWorld(t)
	w.awaitLeader(w.broker(nil))
	a := w.worker("w1", nil)
	for _, c := range []struct{ name, subject, header, value, says string }{
		{"NaN", "req.a", wire.HeaderPriority, "NaN", wire.HeaderPriority},
		{"1e309", "req.a", wire.HeaderPriority, "1e309", wire.HeaderPriority},
		{"negative tokens", "req.a", wire.HeaderInputTokens, "-1", wire.HeaderInputTokens},
		{"absurd tokens", "req.a", wire.HeaderInputTokens, "99999999999999999999", wire.HeaderInputTokens},
		{"a long value", "req.a", wire.HeaderModel, strings.Repeat("m", 60<<10), wire.HeaderModel},
		{"misspelt header", "req.a", "Fairlead-Input-Token", "5", "Fairlead-Input-Token"},
		{"dotted worker", "req.a", wire.HeaderPinWorker, "my.worker", wire.HeaderPinWorker},
		{"two pins", "req.a.w1", wire.HeaderPinWorker, "w2", wire.HeaderPinWorker},
		{"unknown path", "req.a", wire.HeaderPath, "/v2/chat", wire.HeaderPath},
		{"short TTL", "req.a", wire.HeaderTTL, "10ms", wire.HeaderTTL},
		{"rank out of bounds", "req.a.w1", wire.HeaderDPRank, "7", wire.HeaderDPRank},
	} {
		t.Run(c.name, func(t *testing.T) {
			to := w.inbox()
			w.request(c.subject, to, c.header, c.value)
			if f := to.failure(wire.InvalidRequest); f.Code != 400 || !strings.Contains(f.Detail, c.says) || !strings.Contains(f.Detail, "want") && !strings.Contains(f.Detail, "subjects.md") {
				t.Fatalf("detail %q: want it to name %s and what would be right", f.Detail, c.says)
			}
		})
	}
	t.Run("empty payload", func(t *testing.T) {
		to := w.inbox()
		m := nats.NewMsg("req.a")
		m.Header.Set(wire.HeaderMsgSize, "8") // the server's own word counts
		m.Header.Set(wire.HeaderReplyTo, to.sub.Subject)
		if _, err := w.store.JS.PublishMsg(context.Background(), m); err != nil {
			t.Fatal(err)
		}
		if f := to.failure(wire.InvalidRequest); !strings.Contains(f.Detail, "payload") {
			t.Fatalf("detail %q", f.Detail)
		}
	})
	w.awaitEmpty()
	if !a.idle() {
		t.Fatal("a bad request was handed out")
	}
}

// TestBadReply: a reply subject that cannot be used leaves the answer on res.<id>.
func TestBadReply(t *testing.T) {
	w := newWorld(t)
	w.awaitLeader(w.broker(nil))
	for _, to := range []string{"$JS.API.STREAM.DELETE.REQ", "done.w1", "a.*", "_INBOX.>", "elsewhere.x"} {
		id := w.request("req.a", inbox{}, wire.HeaderReplyTo, to)
		var m string
		eventually(t, "the refusal of "+to, func() bool {
			r, err := w.store.LeaderLast(context.Background(), w.names.StreamRES(), w.names.Res(id))
			if err == nil {
				m = r.Header.Get(wire.HeaderReason) + " " + r.Header.Get(wire.HeaderError)
			}
			return err == nil
		})
		if !strings.HasPrefix(m, string(wire.InvalidRequest)+" "+wire.HeaderReplyTo) {
			t.Errorf("reply to %s: %q", to, m)
		}
	}
	w.awaitEmpty()
}

// TestNotOurs: what no subject takes, the server refuses to the publisher.
func TestNotOurs(t *testing.T) {
	w := newWorld(t)
	w.awaitLeader(w.broker(nil))
	for _, subject := range []string{"req", "req.a.b.c", "req.premium.my.worker"} {
		if _, err := w.store.JS.Publish(context.Background(), subject, []byte("{}")); !errors.Is(err, jetstream.ErrNoStreamResponse) {
			t.Errorf("%s: %v, want no stream", subject, err)
		}
	}
	big := make([]byte, w.nc.MaxPayload()+1)
	if _, err := w.store.JS.Publish(context.Background(), "req.a", big); !errors.Is(err, nats.ErrMaxPayload) {
		t.Errorf("a payload over the server's limit: %v", err)
	}
}

// TestSameAskedTwice: Nats-Msg-Id makes asking idempotent.
func TestSameAskedTwice(t *testing.T) {
	w := newWorld(t)
	w.awaitLeader(w.broker(nil))
	to := w.inbox()
	first := w.request("req.a", to, wire.HeaderMsgID, "order-1")
	if again := w.request("req.a", to, wire.HeaderMsgID, "order-1"); again != first {
		t.Fatalf("ids %d and %d", first, again)
	}
	a := w.worker("w1", nil)
	a.take().finish()
	w.awaitEmpty()
	if !a.idle() {
		t.Fatal("it ran twice")
	}
}

// TestQueueFull: the request that crosses a limit is still taken; the next one
// learns class, kind, current, limit and when to come back.
func TestQueueFull(t *testing.T) {
	w := newWorld(t)
	w.awaitLeader(w.broker(func(c *broker.Config) { c.Policy = mustPolicy(t, oneClass(", request_queue_limit_per_worker: 2")) }))
	to := w.inbox()
	w.request("req.a", to)
	w.request("req.a", to)
	w.request("req.a", to)
	f := to.failure(wire.QueueFull)
	if f.Code != 429 || f.RetryAfter < time.Second || !strings.HasPrefix(f.Detail, "class a is full: request_queue_limit_per_worker is 2") {
		t.Fatalf("failure %+v", f)
	}
	a := w.worker("w1", nil)
	a.take().finish()
	a.take().finish()
	w.awaitEmpty()
}

// TestNeverQueue: a limit of 0, or the header, admits what can run now and
// refuses the rest.
func TestNeverQueue(t *testing.T) {
	w := newWorld(t)
	w.awaitLeader(w.broker(func(c *broker.Config) { c.Policy = mustPolicy(t, oneClass(", request_queue_limit_per_worker: 0")) }))
	a := w.worker("w1", func(h *wire.Heartbeat) { h.Slots = 1 })
	eventually(t, "the worker is known", func() bool { return len(status(w).Workers) == 1 })
	runs, refused := w.inbox(), w.inbox()
	w.request("req.a", runs)
	w.request("req.a", refused)
	refused.failure(wire.QueueFull)
	a.take().finish()
	if r, _ := runs.next(); r.Usage == nil {
		t.Fatalf("result %+v", r)
	}
	w.awaitEmpty()
}

// TestNoWorker: without grace a request that nobody can serve is answered at once.
func TestNoWorker(t *testing.T) {
	w := newWorld(t)
	w.awaitLeader(w.broker(func(c *broker.Config) {
		c.Policy = mustPolicy(t, oneClass(", no_worker_grace: 0, pin_grace: 0"))
	}))
	to := w.inbox()
	w.request("req.a", to)
	to.failure(wire.NoWorker)
	w.request("req.a.w9", to)
	to.failure(wire.WorkerGone)
	w.worker("w1", nil)
	eventually(t, "the worker is known", func() bool { return len(status(w).Workers) == 1 })
	w.request("req.a", to, wire.HeaderModel, "another")
	to.failure(wire.ModelNotFound)
	w.awaitEmpty()
}

// TestDeadline: a request ends in the queue when its time is over.
func TestDeadline(t *testing.T) {
	w := newWorld(t)
	w.awaitLeader(w.broker(nil))
	to := w.inbox()
	w.request("req.a", to, wire.HeaderTTL, "1s")
	to.failure(wire.DeadlineExceeded)
	w.awaitEmpty()
}

// TestGivenBack: an engine that is busy costs the request nothing but time.
func TestGivenBack(t *testing.T) {
	w := newWorld(t)
	w.awaitLeader(w.broker(nil))
	a := w.worker("w1", nil)
	to := w.inbox()
	w.request("req.a", to)
	for attempt := uint32(1); attempt <= 5; attempt++ { // more than max_attempts
		j := a.take()
		if j.Claim.Attempt != attempt || j.Claim.Lost != 0 {
			t.Fatalf("claim %+v, want attempt %d", j.Claim, attempt)
		}
		j.report(wire.Done{Status: wire.StatusReturned, RetryAfterMS: 20})
		j.ack()
	}
	a.take().finish()
	if r, _ := to.next(); r.Attempt != 6 {
		t.Fatalf("result %+v", r)
	}
	w.awaitEmpty()
}

// TestReload: the new policy holds for what comes, and for what waits.
func TestReload(t *testing.T) {
	w := newWorld(t)
	b := w.broker(func(c *broker.Config) { c.Policy = mustPolicy(t, oneClass("")) })
	w.awaitLeader(b)
	to := w.inbox()
	w.request("req.a", to)
	if err := b.Reload(mustPolicy(t, oneClass(", request_queue_limit_per_worker: 1"))); err != nil {
		t.Fatal(err)
	}
	w.request("req.a", to)
	to.failure(wire.QueueFull)
	w.worker("w1", nil).take().finish()
	w.awaitEmpty()
}

// TestAlienMessages: whoever writes nonsense to our subjects stops nobody.
func TestAlienMessages(t *testing.T) {
	w := newWorld(t)
	w.awaitLeader(w.broker(nil))
	ctx := context.Background()
	for _, subject := range []string{w.names.Done("w1"), w.names.Done("w2")} {
		if _, err := w.store.JS.Publish(ctx, subject, []byte("nonsense")); err != nil {
			t.Fatal(err)
		}
	}
	for _, subject := range []string{w.names.Load("w1"), w.names.Ev("w1"), w.names.CtlCancel(), w.names.CtlStatus()} {
		if err := w.nc.Publish(subject, []byte("nonsense")); err != nil {
			t.Fatal(err)
		}
	}
	w.request("req.a", inbox{})
	w.worker("w1", nil).take().finish()
	w.awaitEmpty()
}

// TestAlienWork: nonsense in WORK keeps nobody from leading; it is counted.
func TestAlienWork(t *testing.T) {
	w := newWorld(t)
	ctx := context.Background()
	b := w.broker(nil)
	w.awaitLeader(b)
	b.end()
	for _, subject := range []string{w.names.Work("w9", 1), w.names.Verdict(7)} {
		if _, err := w.store.JS.Publish(ctx, subject, []byte("nonsense")); err != nil {
			t.Fatal(err)
		}
	}
	reg := prometheus.NewRegistry()
	w.awaitLeader(w.broker(func(c *broker.Config) { c.Registry = reg }))
	w.serves()
	for _, sample := range []string{"unreadable_total{claim}", "unreadable_total{verdict}"} {
		if n := gathered(t, reg)[sample]; n != 1 {
			t.Errorf("%s is %v, want 1", sample, n)
		}
	}
}
