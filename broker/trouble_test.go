package broker_test

import (
	"context"
	"testing"

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
			to := w.inbox()
			w.request("req.a", to)
			w.worker("w1", nil).take().finish()
			if r, _ := to.next(); r.Usage == nil {
				t.Fatalf("result %+v", r)
			}
			w.awaitEmpty()
		})
	}
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
