package broker_test

import (
	"context"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"fairlead/wire"
)

// worker is an agent whose every move a test decides.
type worker struct {
	w           *world
	name        string
	incarnation uint64
	cons        jetstream.Consumer

	mu     sync.Mutex
	beat   wire.Heartbeat
	flight map[uint64]wire.InFlight
	quit   chan struct{}
	once   sync.Once
	joined sync.WaitGroup
}

// worker registers a worker and keeps its heartbeats going until silence.
func (w *world) worker(name string, change func(*wire.Heartbeat)) *worker {
	w.t.Helper()
	ctx := context.Background()
	reg := wire.Registration{Worker: name}
	var ack *jetstream.PubAck
	eventually(w.t, "WORK takes registrations", func() (ok bool) {
		var err error
		ack, err = w.store.JS.Publish(ctx, w.names.Reg(name), wire.Encode(&reg))
		return err == nil
	})
	a := &worker{w: w, name: name, incarnation: ack.Sequence, flight: map[uint64]wire.InFlight{}, quit: make(chan struct{})}
	cons, err := w.store.JS.CreateConsumer(ctx, w.names.StreamWORK(), jetstream.ConsumerConfig{
		FilterSubject: w.names.Work(name, a.incarnation), AckPolicy: jetstream.AckExplicitPolicy,
		AckWait: time.Hour, MemoryStorage: true, InactiveThreshold: time.Minute,
	})
	if err != nil {
		w.t.Fatal(err)
	}
	a.cons = cons
	a.beat = wire.Heartbeat{
		Worker: name, Incarnation: a.incarnation, IntervalMS: 200, Healthy: true, Models: []string{"m"}, Ranks: 1, Slots: 4,
	}
	if change != nil {
		change(&a.beat)
	}
	a.joined.Go(a.beats)
	w.t.Cleanup(a.silence)
	return a
}

func (a *worker) beats() {
	every := time.NewTicker(50 * time.Millisecond)
	defer every.Stop()
	for {
		a.mu.Lock()
		a.beat.Seq++
		a.beat.InFlight = a.beat.InFlight[:0]
		for _, f := range a.flight {
			a.beat.InFlight = append(a.beat.InFlight, f)
		}
		body := wire.Encode(&a.beat)
		a.mu.Unlock()
		_ = a.w.nc.Publish(a.w.names.Load(a.name), body) // the connection ends with the test
		select {
		case <-a.quit:
			return
		case <-every.C:
		}
	}
}

// silence ends the heartbeats, as a crash would.
func (a *worker) silence() {
	a.once.Do(func() { close(a.quit) })
	a.joined.Wait()
}

// job is a claim taken from WORK.
type job struct {
	a     *worker
	msg   jetstream.Msg
	seq   uint64
	Claim wire.Claim
}

// take waits for the next claim and lists it in the heartbeats.
func (a *worker) take() *job {
	a.w.t.Helper()
	m, err := a.cons.Next(jetstream.FetchMaxWait(patience))
	if err != nil {
		a.w.t.Fatalf("worker %s: no claim: %v", a.name, err)
	}
	return a.taken(m)
}

// idle reports that no claim waits for the worker.
func (a *worker) idle() bool {
	a.w.t.Helper()
	info, err := a.cons.Info(context.Background())
	return err == nil && info.NumPending == 0
}

func (a *worker) taken(m jetstream.Msg) *job {
	a.w.t.Helper()
	meta, err := m.Metadata()
	if err != nil {
		a.w.t.Fatal(err)
	}
	j := &job{a: a, msg: m, seq: meta.Sequence.Stream}
	if err := wire.Decode(m.Data(), &j.Claim); err != nil {
		a.w.t.Fatal(err)
	}
	a.mu.Lock()
	a.flight[j.Claim.ID] = wire.InFlight{ID: j.Claim.ID, Claim: j.seq, Attempt: j.Claim.Attempt, Rank: j.Claim.Rank}
	a.mu.Unlock()
	return j
}

// firstToken makes the heartbeats say that the first token has been sent.
func (j *job) firstToken() {
	j.a.mu.Lock()
	defer j.a.mu.Unlock()
	f := j.a.flight[j.Claim.ID]
	f.First = true
	j.a.flight[j.Claim.ID] = f
}

func (j *job) report(d wire.Done) {
	j.a.w.t.Helper()
	d.ID, d.Attempt, d.Claim, d.Worker, d.Incarnation, d.Class = j.Claim.ID, j.Claim.Attempt, j.seq, j.a.name, j.a.incarnation, j.Claim.Class
	m := nats.NewMsg(j.a.w.names.Done(j.a.name))
	m.Header.Set(wire.HeaderMsgID, d.DedupID())
	m.Data = wire.Encode(&d)
	if _, err := j.a.w.store.JS.PublishMsg(context.Background(), m); err != nil {
		j.a.w.t.Fatal(err)
	}
}

func (j *job) ack() {
	j.a.w.t.Helper()
	if err := j.msg.DoubleAck(context.Background()); err != nil {
		j.a.w.t.Fatal(err)
	}
	j.a.mu.Lock()
	delete(j.a.flight, j.Claim.ID)
	j.a.mu.Unlock()
}

// finish answers the client, reports and acknowledges, in the agent's order.
func (j *job) finish() {
	j.a.w.t.Helper()
	ctx := context.Background()
	q, err := j.a.w.store.Get(ctx, j.a.w.names.StreamREQ(), j.Claim.ID)
	if err != nil {
		j.a.w.t.Fatal(err)
	}
	m := nats.NewMsg(q.Header.Get(wire.HeaderReplyTo))
	m.Header = j.origin().FinalOK(0, wire.Usage{Prompt: 4, Cached: -1, Output: 1})
	if m.Subject == "" {
		m.Subject = j.a.w.names.Res(j.Claim.ID)
		_, err = j.a.w.store.JS.PublishMsg(ctx, m)
	} else {
		err = j.a.w.nc.PublishMsg(m)
	}
	if err != nil {
		j.a.w.t.Fatal(err)
	}
	j.report(wire.Done{Status: wire.StatusOK})
	j.ack()
}

func (j *job) origin() wire.Origin {
	return wire.Origin{ID: j.Claim.ID, Attempt: j.Claim.Attempt, Claim: j.seq, Worker: j.a.name}
}
