package agent

import (
	"errors"
	"testing"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/vmihailenco/msgpack/v5"

	"fairlead/agent/engine"
	"fairlead/internal/store"
	"fairlead/wire"
)

func TestServerRestart(t *testing.T) {
	w := newWorldWithStreams(t)
	eng := newFake()
	r := w.start(eng, nil)
	r.ready()
	id := w.ask(request{body: streaming})
	seq := r.hand(wire.Claim{ID: id})
	call := receive(t, "the call", eng.calls, nil)
	w.must(call.emit([]byte(`{"n":0}`)))
	w.stopServer()
	emitted := make(chan error, 1)
	go func() { emitted <- call.emit([]byte(`{"n":1}`)) }()
	w.startServer()
	w.must(receive(t, "the chunk to get through", emitted, nil))
	call.end <- fakeEnd{res: engine.Result{Usage: usage}}
	r.idle()
	if d := w.storedDone(); d.Claim != seq || d.Status != wire.StatusOK {
		t.Errorf("DONE %+v", d)
	}
	indexes := map[int]int{}
	finals := 0
	for _, m := range w.results(id) {
		indexes[m.Index]++
		if m.Final {
			finals++
		}
	}
	if indexes[0] < 1 || indexes[1] < 1 || indexes[2] != 1 || finals != 1 {
		t.Errorf("stored messages by index %v, %d finals", indexes, finals)
	}
	r.hand(wire.Claim{ID: w.ask(request{body: "{}"})})
	receive(t, "the next call", eng.calls, nil).end <- fakeEnd{}
	r.idle()
}

// storedDone reads the last DONE from its stream: while its own connection was
// down, a test hears none.
func (w *world) storedDone() wire.Done {
	w.t.Helper()
	stored, err := w.st.LeaderLast(w.t.Context(), w.st.Names.StreamDONE(), w.st.Names.Done("w1"))
	w.must(err)
	var d wire.Done
	w.must(wire.Decode(stored.Data, &d))
	return d
}

// results reads what is stored for a request.
func (w *world) results(id uint64) []wire.ResultMessage {
	w.t.Helper()
	stream, err := w.st.JS.Stream(w.t.Context(), w.st.Names.StreamRES())
	w.must(err)
	var list []wire.ResultMessage
	for seq := uint64(1); ; {
		m, err := stream.GetMsg(w.t.Context(), seq, jetstream.WithGetMsgSubject(w.st.Names.Res(id)))
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			return list
		}
		w.must(err)
		res, err := wire.ParseResult(wire.Header(m.Header))
		w.must(err)
		list, seq = append(list, res), m.Sequence+1
	}
}

func TestServerDiesBetweenFinalAndDone(t *testing.T) {
	w := newWorldWithStreams(t)
	eng := newFake()
	r := w.start(eng, nil)
	r.ready()
	subject, results := w.inbox()
	id := w.ask(request{"{}", reply(subject)})
	seq := r.hand(wire.Claim{ID: id})
	// Without its stream no DONE is stored, so that the agent stands exactly there.
	w.must(w.st.JS.DeleteStream(t.Context(), w.st.Names.StreamDONE()))
	receive(t, "the call", eng.calls, nil).end <- fakeEnd{res: engine.Result{Usage: usage, Body: []byte("{}")}}
	if m, _ := w.next(results); !m.Final {
		t.Errorf("client got %+v", m)
	}
	receive(t, "a DONE that is tried in vain", r.dones, nil)
	w.stopServer()
	w.startServer()
	w.must(w.st.Ensure(t.Context(), store.Options{}))
	r.idle()
	if d := w.storedDone(); d.Claim != seq || d.Status != wire.StatusOK {
		t.Errorf("DONE %+v", d)
	}
	in, err := w.st.Range(t.Context(), w.st.Names.StreamDONE())
	w.must(err)
	if in.Messages != 1 || len(results) != 0 || len(eng.calls) != 0 {
		t.Errorf("%d DONE stored, %d more results, %d more calls", in.Messages, len(results), len(eng.calls))
	}
}

func TestConsumerLostUnderARunningCall(t *testing.T) {
	w := newWorldWithStreams(t)
	eng := newFake()
	r := w.start(eng, nil)
	r.ready()
	seq := r.hand(wire.Claim{ID: w.ask(request{body: "{}"})})
	call := receive(t, "the call", eng.calls, nil)
	work, err := w.st.JS.Stream(t.Context(), w.st.Names.StreamWORK())
	w.must(err)
	for c := range work.ListConsumers(t.Context()).Info() {
		w.must(w.st.JS.DeleteConsumer(t.Context(), w.st.Names.StreamWORK(), c.Name))
	}
	call.end <- fakeEnd{}
	if d := r.done(); d.Claim != seq || d.Status != wire.StatusOK {
		t.Errorf("DONE %+v", d)
	}
	r.idle()
	if len(eng.calls) != 0 {
		t.Error("a claim that was delivered again ran again")
	}
}

func TestLostDelivery(t *testing.T) {
	w := newWorldWithStreams(t)
	eng := newFake()
	r := w.start(eng, nil)
	r.ready()
	receive(t, "the agent to be ready", r.beats, func(*wire.Heartbeat) bool { return r.agent.Ready() == nil })
	work, err := w.st.JS.Stream(t.Context(), w.st.Names.StreamWORK())
	w.must(err)
	// A thief's pulls stand in the agent's line: some claim goes to it and is never seen again.
	thief, stolen := w.inbox()
	for c := range work.ListConsumers(t.Context()).Info() {
		for range 3 {
			w.must(w.nc.PublishRequest("$JS.API.CONSUMER.MSG.NEXT."+w.st.Names.StreamWORK()+"."+c.Name, thief, []byte(`{"batch":1,"expires":60000000000}`)))
		}
	}
	w.must(w.nc.Flush())
	const claims = 6
	for range claims {
		r.hand(wire.Claim{ID: w.ask(request{body: "{}"})})
	}
	receive(t, "a theft", stolen, nil)
	for range claims {
		receive(t, "a call", eng.calls, nil).end <- fakeEnd{}
	}
	for range claims {
		r.done()
	}
	r.idle()
	if len(eng.calls) != 0 {
		t.Error("a claim ran twice")
	}
}

func TestBrokerRemovedTheClaim(t *testing.T) {
	w := newWorldWithStreams(t)
	eng := newFake()
	r := w.start(eng, nil)
	r.ready()
	seq := r.hand(wire.Claim{ID: w.ask(request{body: "{}"})})
	call := receive(t, "the call", eng.calls, nil)
	w.must(w.st.Delete(t.Context(), w.st.Names.StreamWORK(), seq))
	call.end <- fakeEnd{}
	r.done()
	r.idle()
}

func TestStrangeClaims(t *testing.T) {
	w := newWorldWithStreams(t)
	eng := newFake()
	r := w.start(eng, nil)
	r.ready()
	subject := r.st.Names.Work("w1", r.agent.Incarnation())
	newer, err := msgpack.Marshal(map[string]any{"v": wire.Version + 1, "id": 7, "att": 2, "class": "chat", "mood": "odd"})
	w.must(err)
	for _, data := range [][]byte{[]byte("no msgpack"), newer} {
		_, err := w.st.JS.Publish(t.Context(), subject, data)
		w.must(err)
	}
	r.log.says(t, "cannot read a claim")
	if d := r.done(); d.ID != 7 || d.Attempt != 2 || d.Status != wire.StatusReturned || d.RetryAfterMS != tooOldRetry.Milliseconds() {
		t.Errorf("DONE %+v, want it given back", d)
	}
	r.hand(wire.Claim{ID: w.ask(request{body: "{}"})})
	receive(t, "the call for an ordinary claim", eng.calls, nil).end <- fakeEnd{}
	r.done()
}
