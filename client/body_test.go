package client_test

import (
	"bytes"
	"errors"
	"strconv"
	"testing"
	"time"

	"fairlead/client"
	"fairlead/internal/store"
	"fairlead/wire"
)

var large = bytes.Repeat([]byte("x"), 3<<20)

// asked is the only request in REQ.
func (r *rig) asked(id uint64) store.Message {
	r.t.Helper()
	m, err := r.store.LeaderGet(r.ctx, r.store.Names.StreamREQ(), id)
	must(r.t, err)
	return m
}

// kept reports whether a body is in the bucket.
func (r *rig) kept(name string) bool {
	_, err := r.store.GetBody(r.ctx, name, 1<<30)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		r.t.Fatal(err)
	}
	return err == nil
}

// A body that no message can carry lies in the bucket, and the message names it.
func TestLargeBody(t *testing.T) {
	r := newRig(t, client.Config{})
	p := r.submit(client.Request{Class: "a", Body: large})
	m := r.asked(p.ID)
	name := wire.First(m.Header, wire.HeaderBody)
	if len(m.Data) != 0 || wire.First(m.Header, wire.HeaderBodySize) != strconv.Itoa(len(large)) {
		t.Fatalf("asked with %d bytes and %v", len(m.Data), m.Header)
	}
	rules := wire.Rules{Names: r.store.Names}
	q, refusal := rules.ParseRequest(wire.Message{Subject: m.Subject, Header: m.Header})
	if refusal != nil || q.Input != uint32(len(large)/4) {
		t.Errorf("read as %+v, %v", q, refusal)
	}
	got, err := r.store.GetBody(r.ctx, name, int64(len(large)))
	if err != nil || !bytes.Equal(got, large) {
		t.Errorf("%d bytes in the bucket, %v", len(got), err)
	}
	if _, err := r.store.GetBody(r.ctx, name, int64(len(large)-1)); !errors.Is(err, store.ErrTooLarge) {
		t.Errorf("beyond the limit: %v", err)
	}
	p.Close() // it goes on without its reader
	if !r.kept(name) {
		t.Error("the body is gone while its request goes on")
	}
}

// The client removes a body when the broker has ended its request, but for a dead
// letter, which still names it.
func TestLargeBodyEnds(t *testing.T) {
	r := newRig(t, client.Config{})
	for reason, stays := range map[wire.Reason]bool{wire.QueueFull: false, wire.AttemptsExhausted: true} {
		p := r.submit(client.Request{Class: "a", Body: large})
		name := wire.First(r.asked(p.ID).Header, wire.HeaderBody)
		r.take(p.ID, 0).broker().fail(wire.Failure{Reason: reason}, "")
		_, err := p.Result(r.ctx)
		wantError(t, err, reason)
		if stays {
			if !r.kept(name) {
				t.Errorf("%s: the body is gone", reason)
			}
			continue
		}
		eventually(t, func() bool { return !r.kept(name) })
	}
}

func eventually(t *testing.T, ok func() bool) {
	t.Helper()
	late, look := time.After(patience), time.NewTicker(10*time.Millisecond)
	defer look.Stop()
	for !ok() {
		select {
		case <-late:
			t.Fatal("not so for long")
		case <-look.C:
		}
	}
}

// One that the store refuses to name leaves nothing behind.
func TestLargeBodyRefused(t *testing.T) {
	r := newRig(t, client.Config{})
	must(t, r.store.JS.DeleteStream(r.ctx, "OBJ_"+r.store.Names.BucketBodies()))
	_, err := r.c.Submit(r.ctx, client.Request{Class: "a", Body: large})
	wantError(t, err, wire.TooLarge)
}
