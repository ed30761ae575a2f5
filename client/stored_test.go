package client_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead/client"
	"fairlead/wire"
)

// quiet plays a leader that knows every request as running, so that nothing is
// given up.
func quiet(r *rig) { leadStatus(r, wire.StateRunning, nil) }

// leadStatus answers every question with one state, and tells of each.
func leadStatus(r *rig, s wire.RequestState, asked chan<- []uint64) {
	lead(r, r.store.Names.CtlStatus(), func(q wire.StatusRequest) wire.BrokerStatus {
		answer := wire.BrokerStatus{Leader: "b1", Recovered: true}
		for _, id := range q.IDs {
			answer.Requests = append(answer.Requests, wire.RequestStatus{ID: id, State: s})
		}
		if asked != nil {
			asked <- q.IDs
		}
		return answer
	})
}

func storedRequest(r *rig) *client.Pending {
	return r.submit(client.Request{Class: "a", Body: body, Stored: true})
}

func TestAwaitWhatIsThere(t *testing.T) {
	r := newRig(t, client.Config{Namespace: "blue"})
	id := storedRequest(r).ID
	const many = 700 // several batches
	w := r.take(id, 1)
	if w.reply != "" {
		t.Fatalf("a stored request named the inbox %q", w.reply)
	}
	for i := range many {
		w.chunks(fmt.Sprint(i))
	}
	w.done("")
	for range 2 { // as often as one likes
		p, err := r.c.Await(r.ctx, id)
		must(t, err)
		res, err := p.Result(r.ctx)
		must(t, err)
		if len(res.Chunks) != many || string(res.Chunks[many-1]) != fmt.Sprint(many-1) || res.ID != id {
			t.Errorf("%d chunks of %d", len(res.Chunks), res.ID)
		}
	}
}

// A result that is longer than what may wait for its reader is read as that one
// goes on, to its end and to what is still coming; as a whole, all of it is kept.
func TestAwaitMoreThanFits(t *testing.T) {
	r := newRig(t, client.Config{MaxBuffered: 1000})
	quiet(r)
	id := storedRequest(r).ID
	w, want := r.take(id, 1), []string(nil)
	for i := range 300 { // more than one batch
		want = append(want, fmt.Sprintf("%0100d", i))
	}
	want = append(want, strings.Repeat("x", 3000))
	w.chunks(want...)
	p, err := r.c.Await(r.ctx, id)
	must(t, err)
	var got []string
	for chunk, err := range p.Chunks(r.ctx) {
		must(t, err)
		if got = append(got, string(chunk.Data)); len(got) == 301 {
			w.chunks("coming").done("")
		}
	}
	if diff := cmp.Diff(append(want, "coming"), got); diff != "" {
		t.Errorf("chunk by chunk: -want +got\n%s", diff)
	}
	p, err = r.c.Await(r.ctx, id)
	must(t, err)
	res, err := p.Result(r.ctx)
	must(t, err)
	if len(res.Chunks) != len(got) {
		t.Errorf("as a whole: %d chunks; want %d", len(res.Chunks), len(got))
	}
}

func TestAwaitWhatIsComing(t *testing.T) {
	r := newRig(t, client.Config{})
	quiet(r)
	id := storedRequest(r).ID
	w := r.take(id, 1).chunks("a")
	p, err := r.c.Await(r.ctx, id)
	must(t, err)
	var got []string
	for chunk, err := range p.Chunks(r.ctx) {
		must(t, err)
		got = append(got, string(chunk.Data))
		switch chunk.Index {
		case 0:
			w.chunks("b")
		case 1:
			w.chunks("c").done("")
		}
	}
	if diff := cmp.Diff([]string{"a", "b", "c"}, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

// Of several attempts, the one whose final message is first in the store is the
// outcome, and only its chunks are shown.
func TestAwaitSeveralAttempts(t *testing.T) {
	r := newRig(t, client.Config{})
	id := storedRequest(r).ID
	first := r.take(id, 1).chunks("a", "b")
	second := first.as(2).chunks("x")
	third := first.as(3).chunks("1")
	second.chunks("y").done("")
	third.chunks("2").done("")
	first.broker().fail(wire.Failure{Reason: wire.WorkerLost}, "")
	p, err := r.c.Await(r.ctx, id)
	must(t, err)
	res, err := p.Result(r.ctx)
	must(t, err)
	if diff := cmp.Diff([][]byte{[]byte("x"), []byte("y")}, res.Chunks); diff != "" || res.Attempt != 2 {
		t.Errorf("attempt %d, -want +got\n%s", res.Attempt, diff)
	}
}

func TestAwaitAFailure(t *testing.T) {
	r := newRig(t, client.Config{})
	id := storedRequest(r).ID
	r.take(id, 1).broker().fail(wire.Failure{Reason: wire.QueueFull, RetryAfter: time.Second}, "")
	p, err := r.c.Await(r.ctx, id)
	must(t, err)
	_, err = p.Result(r.ctx)
	if e := wantError(t, err, wire.QueueFull); e.RetryAfter != time.Second {
		t.Errorf("got %+v", e)
	}
}

func TestAwaitWhatNobodyKnows(t *testing.T) {
	r := newRig(t, client.Config{LostGrace: time.Millisecond})
	leadStatus(r, wire.StateEnded, nil)
	p, err := r.c.Await(r.ctx, 12345)
	must(t, err)
	_, err = p.Result(r.ctx)
	if e := wantError(t, err, wire.ResultLost); e.ID != 12345 || !strings.Contains(e.Detail, "res.12345") {
		t.Errorf("got %+v", e)
	}
	if _, err := r.c.Await(r.ctx, 0); err == nil {
		t.Error("id 0 was taken")
	}
}

// A leader that says "ended" is not believed against what the store holds.
func TestAwaitEndedAndStored(t *testing.T) {
	r := newRig(t, client.Config{LostGrace: time.Millisecond})
	id := storedRequest(r).ID
	r.take(id, 1).done("answer")
	leadStatus(r, wire.StateEnded, nil)
	p, err := r.c.Await(r.ctx, id)
	must(t, err)
	_, err = p.Result(r.ctx)
	must(t, err)
}

func TestAwaitWithAChunkGone(t *testing.T) {
	r := newRig(t, client.Config{})
	quiet(r)
	id := storedRequest(r).ID
	r.take(id, 1).chunks("a", "b", "c").done("")
	second, err := r.store.JS.Stream(r.ctx, "RES")
	must(t, err)
	info, err := second.Info(r.ctx)
	must(t, err)
	must(t, r.store.Delete(r.ctx, "RES", info.State.FirstSeq+1))
	p, err := r.c.Await(r.ctx, id)
	must(t, err)
	_, err = p.Result(r.ctx)
	if e := wantError(t, err, wire.ResultLost); !strings.Contains(e.Detail, "chunk 1 ") {
		t.Errorf("detail %q", e.Detail)
	}
}

func TestAwaitTwiceAtOnce(t *testing.T) {
	r := newRig(t, client.Config{})
	quiet(r)
	id := storedRequest(r).ID
	p, err := r.c.Await(r.ctx, id)
	must(t, err)
	if _, err := r.c.Await(r.ctx, id); err == nil || !strings.Contains(err.Error(), "one reader") {
		t.Errorf("got %v", err)
	}
	p.Close()
	again, err := r.c.Await(r.ctx, id)
	must(t, err)
	again.Close()
}

// Reading creates no consumers, which the server limits.
func TestAwaitCreatesNoConsumer(t *testing.T) {
	r := newRig(t, client.Config{})
	quiet(r)
	id := storedRequest(r).ID
	w := r.take(id, 1).chunks("a")
	p, err := r.c.Await(r.ctx, id)
	must(t, err)
	for _, err := range p.Chunks(r.ctx) {
		must(t, err)
		break
	}
	res, err := r.store.JS.Stream(r.ctx, "RES")
	must(t, err)
	info, err := res.Info(r.ctx)
	must(t, err)
	if info.State.Consumers != 0 {
		t.Errorf("%d consumers", info.State.Consumers)
	}
	w.done("")
	_, err = p.Result(r.ctx)
	must(t, err)
}

func TestAwaitWithoutFairlead(t *testing.T) {
	t.Parallel()
	r := newRig(t, client.Config{})
	c := r.connect(client.Config{Namespace: "elsewhere", PublishTimeout: time.Second})
	if _, err := c.Await(r.ctx, 1); err == nil {
		t.Error("a result was read from nowhere")
	}
}
