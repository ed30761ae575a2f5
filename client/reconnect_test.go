package client_test

import (
	"strings"
	"testing"
	"time"

	"fairlead/client"
	"fairlead/wire"
)

// restart takes the server away and brings it back; it returns when the client
// has asked the leader, so that it listens again.
func (r *rig) restart(s wire.RequestState) <-chan []uint64 {
	r.t.Helper()
	asked := make(chan []uint64, 100)
	leadStatus(r, s, asked)
	r.stop()
	r.start()
	select {
	case <-asked:
	case <-r.ctx.Done():
		r.t.Fatal("nobody asked about the open requests")
	}
	return asked
}

func TestReconnectAndGoOn(t *testing.T) {
	r := newRig(t, client.Config{LostGrace: time.Millisecond})
	p := r.submit(client.Request{Class: "a", Body: body})
	w := r.take(p.ID, 1).chunks("a")
	r.restart(wire.StateRunning)
	w.chunks("b").done("")
	res, err := p.Result(r.ctx)
	must(t, err)
	if len(res.Chunks) != 2 {
		t.Errorf("chunks %s", res.Chunks)
	}
}

func TestReconnectToALostResult(t *testing.T) {
	r := newRig(t, client.Config{LostGrace: time.Millisecond})
	p := r.submit(client.Request{Class: "a", Body: body})
	r.restart(wire.StateEnded)
	_, err := p.Result(r.ctx)
	if e := wantError(t, err, wire.ResultLost); e.ID != p.ID || !strings.Contains(e.Detail, "Stored") {
		t.Errorf("got %+v", e)
	}
}

// "Ended" may be said while the result is on its way.
func TestReconnectGrace(t *testing.T) {
	r := newRig(t, client.Config{LostGrace: time.Hour})
	p := r.submit(client.Request{Class: "a", Body: body})
	w := r.take(p.ID, 1)
	r.restart(wire.StateEnded)
	w.done("answer")
	_, err := p.Result(r.ctx)
	must(t, err)
}

func TestReconnectWithAMissedChunk(t *testing.T) {
	r := newRig(t, client.Config{})
	p := r.submit(client.Request{Class: "a", Body: body})
	w := r.take(p.ID, 1).chunks("a")
	r.restart(wire.StateRunning)
	w.skip(1).chunks("c").done("")
	_, err := p.Result(r.ctx)
	wantError(t, err, wire.ResultLost)
}

// A stored result is read again after a reconnect, for what nobody heard.
func TestReconnectToAStoredResult(t *testing.T) {
	r := newRig(t, client.Config{LostGrace: time.Millisecond})
	quiet(r)
	p, err := r.c.Await(r.ctx, storedRequest(r).ID)
	must(t, err)
	w := r.take(p.ID, 1).chunks("a")
	for _, err := range p.Chunks(r.ctx) {
		must(t, err)
		break
	}
	r.stop()
	r.start()
	w.chunks("b").done("")
	res, err := p.Result(r.ctx)
	must(t, err)
	if len(res.Chunks) != 1 || string(res.Chunks[0]) != "b" {
		t.Errorf("the rest: %s", res.Chunks)
	}
}

// While no leader answers, nothing is given up; the client asks until one does.
func TestReconnectWithoutALeader(t *testing.T) {
	r := newRig(t, client.Config{LostGrace: time.Millisecond})
	p := r.submit(client.Request{Class: "a", Body: body})
	r.stop()
	r.start()
	r.flush()
	asked := make(chan []uint64, 100)
	leadStatus(r, wire.StateEnded, asked)
	_, err := p.Result(r.ctx)
	wantError(t, err, wire.ResultLost)
	if n := len(asked); n < 2 {
		t.Errorf("given up after %d answers, want 2: one to suspect, one to be sure", n)
	}
}

// A message that is lost between two servers breaks no connection. The leader is
// asked about a request that stays silent, again and again while it goes on.
func TestSilence(t *testing.T) {
	r := newRig(t, client.Config{LostGrace: time.Millisecond, Silence: 10 * time.Millisecond})
	asked := make(chan []uint64, 1000)
	states := make(chan wire.RequestState, 3)
	states <- wire.StateQueued
	states <- wire.StateRunning
	lead(r, r.store.Names.CtlStatus(), func(q wire.StatusRequest) wire.BrokerStatus {
		asked <- q.IDs
		state := wire.StateEnded
		select {
		case state = <-states:
		default:
		}
		a := wire.BrokerStatus{Recovered: true}
		for _, id := range q.IDs {
			a.Requests = append(a.Requests, wire.RequestStatus{ID: id, State: state})
		}
		return a
	})
	p := r.submit(client.Request{Class: "a", Body: body})
	_, err := p.Result(r.ctx)
	wantError(t, err, wire.ResultLost)
	if n := len(asked); n < 4 {
		t.Errorf("asked %d times, want 4: queued, running, and twice to be sure of the end", n)
	}
}
