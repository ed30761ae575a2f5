package client_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"fairlead/client"
	"fairlead/wire"
)

// Thousands of requests at once, each with a subscription of its own.
func TestManyAtOnce(t *testing.T) {
	const n, chunks = 2000, 3
	r := newRig(t, client.Config{})
	answerAll(r)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			p, err := r.c.Submit(r.ctx, client.Request{Class: "a", Body: fmt.Appendf(nil, "%d", i)})
			if err != nil {
				t.Error(err)
				return
			}
			res, err := p.Result(r.ctx)
			if err != nil {
				t.Error(err)
				return
			}
			if want := fmt.Sprintf("[%d.0 %[1]d.1 %[1]d.2]", i); fmt.Sprintf("%s", res.Chunks) != want || len(res.Chunks) != chunks {
				t.Errorf("got %s, want %s", res.Chunks, want)
			}
		})
	}
	wg.Wait()
}

// answerAll plays a worker that answers every request with three chunks.
func answerAll(r *rig) {
	r.t.Helper()
	cons, err := r.store.JS.CreateConsumer(r.ctx, "REQ", jetstream.ConsumerConfig{AckPolicy: jetstream.AckNonePolicy})
	must(r.t, err)
	cc, err := cons.Consume(func(m jetstream.Msg) { answer(r, m) })
	must(r.t, err)
	r.t.Cleanup(func() { cc.Stop(); <-cc.Closed() })
}

func answer(r *rig, m jetstream.Msg) {
	meta, err := m.Metadata()
	if err != nil {
		r.t.Error(err)
		return
	}
	o := wire.Origin{ID: meta.Sequence.Stream, Attempt: 1, Claim: meta.Sequence.Stream, Worker: "w"}
	reply := m.Headers().Get(wire.HeaderReplyTo)
	for i := range 3 {
		_ = r.store.NC.PublishMsg(&nats.Msg{Subject: reply, Header: o.Chunk(i), Data: fmt.Appendf(nil, "%s.%d", m.Data(), i)})
	}
	_ = r.store.NC.PublishMsg(&nats.Msg{Subject: reply, Header: o.FinalOK(3, wire.Usage{}), Data: nil})
}
