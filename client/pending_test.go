package client_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"

	"fairlead/client"
	"fairlead/wire"
)

func TestResult(t *testing.T) {
	r := newRig(t, client.Config{Namespace: "blue"})
	p := r.submit(client.Request{Class: "a", Body: body})
	r.take(p.ID, 1).done("answer")
	got, err := p.Result(r.ctx)
	must(t, err)
	want := &client.Result{
		ID: p.ID, Attempt: 1, Worker: "gpu-1", Usage: wire.Usage{Prompt: 10, Cached: 4, Output: 2},
		ContentType: "application/json", Body: []byte("answer"),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	again, err := p.Result(r.ctx)
	must(t, err)
	if diff := cmp.Diff(want, again); diff != "" {
		t.Errorf("asked twice: -want +got\n%s", diff)
	}
}

func TestChunksThenResult(t *testing.T) {
	r := newRig(t, client.Config{})
	p := r.submit(client.Request{Class: "a", Body: body})
	w := r.take(p.ID, 2)
	w.chunks("a", "b")
	var got []string
	for chunk, err := range p.Chunks(r.ctx) { // shown as they come, before the end is known
		must(t, err)
		got = append(got, fmt.Sprintf("%d/%d %s %s", chunk.Attempt, chunk.Index, chunk.Data, chunk.Worker))
		if chunk.Index == 1 {
			break
		}
	}
	if diff := cmp.Diff([]string{"2/0 a gpu-1", "2/1 b gpu-1"}, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	w.chunks("c").done("")
	res, err := p.Result(r.ctx)
	must(t, err)
	if diff := cmp.Diff([][]byte{[]byte("c")}, res.Chunks); diff != "" {
		t.Errorf("the rest: -want +got\n%s", diff)
	}
}

func TestFailure(t *testing.T) {
	r := newRig(t, client.Config{})
	p := r.submit(client.Request{Class: "a", Body: body})
	r.take(p.ID, 1).fail(wire.Failure{Reason: wire.InvalidRequest, Code: 422, Detail: "no", RetryAfter: 2 * time.Second}, `{"error":1}`)
	_, err := p.Result(r.ctx)
	want := &client.Error{
		Reason: wire.InvalidRequest, Code: 422, Detail: "no", RetryAfter: 2 * time.Second,
		ID: p.ID, Attempt: 1, Worker: "gpu-1", Body: []byte(`{"error":1}`),
	}
	if diff := cmp.Diff(want, wantError(t, err, wire.InvalidRequest)); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if text := fmt.Sprintf("request %d: invalid_request (422): no", p.ID); err.Error() != text {
		t.Errorf("got %q, want %q", err, text)
	}
}

// What ends a request on this side while its worker may go on is cancelled.
func TestGivingUpCancels(t *testing.T) {
	for name, tc := range map[string]struct {
		play   func(*worker)
		reason wire.Reason
	}{
		"another attempt starts": {func(w *worker) { w.as(2).chunks("x") }, wire.WorkerLost},
		"a chunk is missing":     {func(w *worker) { w.skip(1).chunks("c") }, wire.ResultLost},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, client.Config{})
			cancelled := make(chan uint64, 1)
			lead(r, "ctl.cancel", func(q wire.CancelRequest) wire.CancelReply {
				cancelled <- q.ID
				return wire.CancelReply{ID: q.ID, Outcome: wire.CancelFound}
			})
			p := r.submit(client.Request{Class: "a", Body: body})
			w := r.take(p.ID, 1).chunks("a")
			var got []string
			for chunk, err := range p.Chunks(r.ctx) {
				if err != nil {
					wantError(t, err, tc.reason)
					break
				}
				got = append(got, string(chunk.Data))
				tc.play(w)
			}
			if diff := cmp.Diff([]string{"a"}, got); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
			select {
			case id := <-cancelled:
				if id != p.ID {
					t.Errorf("cancelled %d, want %d", id, p.ID)
				}
			case <-r.ctx.Done():
				t.Error("nothing was cancelled")
			}
		})
	}
}

func TestRestartWhenRetriesWereAsked(t *testing.T) {
	r := newRig(t, client.Config{})
	p := r.submit(client.Request{Class: "a", Body: body, Retry: wire.RetryAlways})
	w := r.take(p.ID, 1).chunks("a", "b")
	var got []string
	for chunk, err := range p.Chunks(r.ctx) {
		must(t, err)
		if chunk.Restart {
			got = nil
			continue
		}
		if got = append(got, string(chunk.Data)); chunk.Attempt == 1 && chunk.Index == 1 {
			w.as(2).chunks("x", "y").done("")
		}
	}
	if diff := cmp.Diff([]string{"x", "y"}, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

func TestForeignMessagesAreIgnored(t *testing.T) {
	r := newRig(t, client.Config{})
	p := r.submit(client.Request{Class: "a", Body: body})
	w := r.take(p.ID, 1)
	w.publish(nil, "no headers")
	w.publish(wire.Header{wire.HeaderID: {"x"}}, "no number")
	other := *w
	other.origin.ID++
	other.done("of another request")
	w.done("answer")
	res, err := p.Result(r.ctx)
	must(t, err)
	if string(res.Body) != "answer" {
		t.Errorf("body %q", res.Body)
	}
}

func TestDeadlineByTheClientsClock(t *testing.T) {
	r := newRig(t, client.Config{DeadlineGrace: time.Millisecond})
	p := r.submit(client.Request{Class: "a", Body: body, TTL: wire.MinTTL})
	_, err := p.Result(r.ctx)
	if e := wantError(t, err, wire.DeadlineExceeded); e.ID != p.ID || e.Attempt != 0 {
		t.Errorf("got %+v", e)
	}
}

func TestWaitingEndsWithItsContextAndGoesOn(t *testing.T) {
	r := newRig(t, client.Config{})
	p := r.submit(client.Request{Class: "a", Body: body})
	ctx, cancel := context.WithCancel(r.ctx)
	cancel()
	if _, err := p.Result(ctx); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
	r.take(p.ID, 1).done("answer")
	_, err := p.Result(r.ctx)
	must(t, err)
}

// Closing is what tells the worker that nobody listens: the server must have
// no interest left, though other requests of the client are open.
func TestCloseLeavesNoInterest(t *testing.T) {
	r := newRig(t, client.Config{})
	quiet(r)
	r.submit(client.Request{Class: "a", Body: body})
	p := r.submit(client.Request{Class: "a", Body: body})
	w := r.take(p.ID, 1)
	before := r.srv.NumSubscriptions()
	p.Close()
	p.Close()
	if _, err := p.Result(r.ctx); !errors.Is(err, client.ErrClosed) {
		t.Errorf("got %v, want ErrClosed", err)
	}
	_, err := r.c.Status(r.ctx) // a round trip, after which the server has seen the unsubscription
	must(t, err)
	if after := r.srv.NumSubscriptions(); after >= before {
		t.Errorf("%d subscriptions, then %d", before, after)
	}
	_, err = r.store.NC.RequestMsgWithContext(r.ctx, &nats.Msg{Subject: w.reply, Header: w.origin.Chunk(0)})
	if !errors.Is(err, nats.ErrNoResponders) {
		t.Errorf("got %v, want no responders", err)
	}
}

func TestClientClose(t *testing.T) {
	r := newRig(t, client.Config{})
	p := r.submit(client.Request{Class: "a", Body: body})
	stored := r.submit(client.Request{Class: "a", Body: body, Stored: true})
	r.c.Close()
	r.c.Close()
	for _, q := range []*client.Pending{p, stored} {
		if _, err := q.Result(r.ctx); !errors.Is(err, client.ErrClosed) {
			t.Errorf("got %v, want ErrClosed", err)
		}
	}
	if _, err := r.c.Submit(r.ctx, client.Request{Class: "a", Body: body}); err == nil {
		t.Error("a closed client took a request")
	}
}

func TestConnectionClosedForGood(t *testing.T) {
	r := newRig(t, client.Config{})
	nc, err := nats.Connect(r.srv.ClientURL())
	must(t, err)
	c, err := client.New(nc, client.Config{})
	must(t, err)
	defer c.Close()
	p, err := c.Submit(r.ctx, client.Request{Class: "a", Body: body})
	must(t, err)
	nc.Close()
	if _, err := p.Result(r.ctx); !errors.Is(err, client.ErrClosed) {
		t.Errorf("got %v, want ErrClosed", err)
	}
}

func TestAsk(t *testing.T) {
	r := newRig(t, client.Config{Namespace: "blue"})
	lead(r, "blue.ctl.cancel", func(q wire.CancelRequest) wire.CancelReply {
		if q.ID == 13 {
			return wire.CancelReply{ID: q.ID, Error: "unlucky"}
		}
		return wire.CancelReply{ID: q.ID, Outcome: wire.CancelDone}
	})
	lead(r, "blue.ctl.status", func(q wire.StatusRequest) wire.BrokerStatus {
		return wire.BrokerStatus{Leader: "b1", Requests: []wire.RequestStatus{{ID: q.IDs[0], State: wire.StateQueued}}}
	})
	lead(r, "blue.ctl.models", func(struct{}) wire.Models { return wire.Models{Models: []wire.ModelStatus{{Name: "m", Workers: 2}}} })

	outcome, err := r.c.Cancel(r.ctx, 7)
	must(t, err)
	if outcome != wire.CancelDone {
		t.Errorf("outcome %s", outcome)
	}
	if _, err := r.c.Cancel(r.ctx, 13); err == nil || !strings.Contains(err.Error(), "unlucky") {
		t.Errorf("got %v", err)
	}
	st, err := r.c.Status(r.ctx, 7)
	must(t, err)
	if diff := cmp.Diff([]wire.RequestStatus{{ID: 7, State: wire.StateQueued}}, st.Requests); diff != "" || st.Leader != "b1" {
		t.Errorf("%+v", st)
	}
	models, err := r.c.Models(r.ctx)
	must(t, err)
	if diff := cmp.Diff([]wire.ModelStatus{{Name: "m", Workers: 2}}, models); diff != "" {
		t.Error(diff)
	}
}
