package broker_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/vmihailenco/msgpack/v5"

	"fairlead/broker"
	"fairlead/internal/store"
	"fairlead/wire"
)

// TestStreamDeleted: a stream that is deleted under a running broker comes back,
// and work goes on. What lay in it is lost; nothing else is.
func TestStreamDeleted(t *testing.T) {
	for _, stream := range []string{"REQ", "WORK", "DONE", "RES", "DEAD"} {
		t.Run(stream, func(t *testing.T) {
			w := newWorld(t)
			b := w.broker(nil)
			w.awaitLeader(b)
			epoch, _ := b.Leading()
			if err := w.store.JS.DeleteStream(context.Background(), stream); err != nil {
				t.Fatal(err)
			}
			eventually(t, "a new term", func() bool {
				e, ok := b.Leading()
				return ok && e > epoch
			})
			w.serves()
			w.awaitEmpty()
		})
	}
}

// TestHoleInDone: a store that was killed may have forgotten a report between others;
// whoever leads next is not kept from leading.
func TestHoleInDone(t *testing.T) {
	w := newWorld(t)
	ctx := context.Background()
	b := w.broker(nil)
	w.awaitLeader(b)
	b.end()
	for id := range uint64(4) {
		ack, err := w.store.JS.Publish(ctx, w.names.Done("w1"), wire.Encode(&wire.Done{ID: id + 1, Attempt: 1, Claim: id + 1, Worker: "w1", Status: wire.StatusOK}))
		if err != nil {
			t.Fatal(err)
		}
		if id%2 == 1 { // one in the middle, and the last
			if err := w.store.Delete(ctx, w.names.StreamDONE(), ack.Sequence); err != nil {
				t.Fatal(err)
			}
		}
	}
	w.awaitLeader(w.broker(nil))
	w.serves()
	w.awaitEmpty()
}

// TestStateInWords: what /readyz says.
func TestStateInWords(t *testing.T) {
	w := newWorld(t)
	one, two := w.broker(nil), w.broker(nil)
	leader := w.awaitLeader(one, two)
	for _, b := range []*running{one, two} {
		want := "standing by"
		if b == leader {
			want = "leading, epoch "
		}
		eventually(t, want, func() bool { return b.Ready() == nil && len(b.State()) >= len(want) && b.State()[:len(want)] == want })
	}
}

// TestFullRequestStream: publishers get the store's own error; what lies there is
// served all the same.
func TestFullRequestStream(t *testing.T) {
	w := newWorld(t)
	w.awaitLeader(w.broker(nil))
	ctx := context.Background()
	s, err := w.store.JS.Stream(ctx, "REQ")
	if err != nil {
		t.Fatal(err)
	}
	cfg := s.CachedInfo().Config
	cfg.MaxMsgs = 1
	if _, err := w.store.JS.UpdateStream(ctx, cfg); err != nil {
		t.Fatal(err)
	}
	to := w.inbox()
	w.request("req.a", to)
	if _, err := w.store.JS.Publish(ctx, "req.a", []byte("{}")); err == nil {
		t.Fatal("a full stream took a request")
	}
	a := w.worker("w1", nil)
	a.take().finish()
	w.awaitEmpty()
	w.request("req.a", to, wire.HeaderInputTokens, "1")
	a.take().finish()
	w.awaitEmpty()
}

// TestFullClass: the store itself refuses a class that is full, also while no
// broker leads; other classes go on.
func TestFullClass(t *testing.T) {
	w := newWorld(t)
	b := w.broker(func(c *broker.Config) { c.Streams.MaxAsked = 2 })
	w.awaitLeader(b)
	b.end()
	to := w.inbox()
	w.request("req.a", to)
	w.request("req.a", to)
	_, err := w.store.JS.Publish(context.Background(), "req.a", []byte("{}"))
	var api *jetstream.APIError
	if !errors.As(err, &api) || api.ErrorCode != store.CodeStreamStoreFailed {
		t.Fatalf("a third request of a full class: %v", err)
	}
	w.request("req.b", to)
	w.awaitLeader(w.broker(func(c *broker.Config) { c.Streams.MaxAsked = 2 }))
	a := w.worker("w1", nil)
	for range 3 {
		a.take().finish()
	}
	w.awaitEmpty()
}

// TestPrefillThreshold: above 1536 active tokens a worker is busy, so that four
// requests of 512 are admitted and the fifth waits for a first token.
func TestPrefillThreshold(t *testing.T) {
	w := newWorld(t)
	w.awaitLeader(w.broker(func(c *broker.Config) { c.Policy = mustPolicy(t, oneClass(", prefill_busy_threshold: 1536")) }))
	a := w.worker("w1", func(h *wire.Heartbeat) { h.Slots = 8 })
	for range 5 {
		w.request("req.a", inbox{}, wire.HeaderInputTokens, "512")
	}
	jobs := []*job{a.take(), a.take(), a.take(), a.take()}
	if got := prefill(w, "w1"); got != 2048 || !a.idle() {
		t.Fatalf("%d tokens in prefill, a fifth claim waits: %v", got, !a.idle())
	}
	jobs[0].firstToken()
	jobs = append(jobs, a.take())
	for _, j := range jobs {
		j.finish()
	}
	w.awaitEmpty()
}

// TestLeaseGivenBack: a leader that ends its own term does not keep everybody waiting for
// the end of its lease.
func TestLeaseGivenBack(t *testing.T) {
	w := newWorld(t)
	b := w.broker(func(c *broker.Config) { c.Timing.Lease = time.Hour })
	w.awaitLeader(b)
	epoch, _ := b.Leading()
	if err := w.store.JS.DeleteStream(context.Background(), "DONE"); err != nil {
		t.Fatal(err)
	}
	eventually(t, "a new term", func() bool {
		e, ok := b.Leading()
		return ok && e > epoch
	})
}

// TestNewerWork: what a newer broker has stored ends every term at its beginning, which
// is said. It is not passed over.
func TestNewerWork(t *testing.T) {
	w := newWorld(t)
	ctx := context.Background()
	b := w.broker(nil)
	w.awaitLeader(b)
	b.end()
	body, err := msgpack.Marshal(struct {
		V  uint8  `msgpack:"v"`
		ID string `msgpack:"id"`
	}{wire.Version + 1, "of another kind"})
	if err != nil {
		t.Fatal(err)
	}
	ack, err := w.store.JS.Publish(ctx, w.names.Work("w1", 1), body)
	if err != nil {
		t.Fatal(err)
	}
	b = w.broker(nil)
	eventually(t, "the broker says why it cannot lead", func() bool {
		err := b.Ready()
		return err != nil && strings.Contains(err.Error(), "read WORK")
	})
	if err := w.store.Delete(ctx, w.names.StreamWORK(), ack.Sequence); err != nil {
		t.Fatal(err)
	}
	w.awaitLeader(b)
}
