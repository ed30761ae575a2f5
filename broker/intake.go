package broker

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"fairlead/broker/arbiter"
	"fairlead/internal/store"
	"fairlead/wire"
)

// intake reads DONE and REQ, from what recovery finds to the end of the term.
type intake struct {
	term *term
	req  *tail
	done *tail

	mu    sync.Mutex
	stops []jetstream.ConsumeContext
}

// tail is how far a consumer has delivered.
type tail struct {
	stream string
	seq    atomic.Uint64 // the last one delivered
	end    uint64        // the last one that the leader reported when reading began
	moved  chan struct{} // a hint that seq has risen
}

func newIntake(t *term) *intake {
	n := t.b.cfg.Names
	return &intake{
		term: t,
		req:  &tail{stream: n.StreamREQ(), moved: make(chan struct{}, 1)},
		done: &tail{stream: n.StreamDONE(), moved: make(chan struct{}, 1)},
	}
}

func (x *tail) at(seq uint64) {
	x.seq.Store(seq)
	select {
	case x.moved <- struct{}{}:
	default:
	}
}

// pass says that nothing up to a sequence is to come any more.
func (x *tail) pass(seq uint64) {
	for old := x.seq.Load(); old < seq; old = x.seq.Load() {
		if x.seq.CompareAndSwap(old, seq) {
			return
		}
	}
}

// stop ends the consumers.
func (in *intake) stop() {
	in.mu.Lock()
	stops := in.stops
	in.stops = nil
	in.mu.Unlock()
	halt(haltWithin, stops...)
}

// haltWithin is how long consumers are waited for. One that is being made anew of a store
// that does not answer takes longer, and ends by itself.
const haltWithin = 3 * time.Second

// halt ends consumers and waits until they are gone, but not longer than within.
func halt(within time.Duration, stops ...jetstream.ConsumeContext) {
	var group sync.WaitGroup
	for _, s := range stops {
		group.Go(func() {
			s.Stop()
			<-s.Closed()
		})
	}
	gone := make(chan struct{})
	go func() {
		group.Wait()
		close(gone)
	}()
	limit := time.NewTimer(within)
	defer limit.Stop()
	select {
	case <-gone:
	case <-limit.C:
	}
}

// consume starts an ordered consumer and returns once everything that was in the
// stream when it was looked at has been delivered.
func (in *intake) consume(ctx context.Context, x *tail, r store.Range, headersOnly bool, handle func(jetstream.Msg)) error {
	st := in.term.b.store
	var cons jetstream.Consumer
	begun := in.term.insist(ctx, "read "+x.stream, func(ctx context.Context) (err error) {
		cons, err = st.JS.OrderedConsumer(ctx, x.stream, jetstream.OrderedConsumerConfig{
			DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: max(r.First, 1),
			HeadersOnly: headersOnly, InactiveThreshold: consumerIdle,
		})
		return err
	})
	if !begun {
		return ctx.Err()
	}
	x.seq.Store(max(r.First, 1) - 1)
	x.end = r.Last
	stop, err := cons.Consume(handle, jetstream.PullMaxMessages(4096), jetstream.PullHeartbeat(consumerBeat),
		jetstream.ConsumeErrHandler(func(_ jetstream.ConsumeContext, err error) {
			in.term.b.log.Debug().Err(err).Str("stream", x.stream).Msg("consumer")
		}))
	if err != nil {
		return fmt.Errorf("consume %s: %w", x.stream, err)
	}
	in.mu.Lock()
	in.stops = append(in.stops, stop)
	in.mu.Unlock()
	return x.reach(ctx, st, x.end)
}

// errHole says that messages vanished before they were delivered: another leader
// has cleaned.
var errHole = errors.New("recovering anew: messages vanished before this leader had read them")

// whole refuses a read of DONE that ended before last: what vanished may have
// been an outcome, and only a recovery from the start can tell.
func (x *tail) whole(last uint64) error {
	if x.seq.Load() < last {
		return fmt.Errorf("%s up to %d: %w", x.stream, last, errHole)
	}
	return nil
}

const (
	// consumerBeat is how often a silent consumer shows that it lives. One that
	// misses two is made anew, elsewhere.
	consumerBeat = time.Second
	// policyBeat is the same for the consumer of the stored policy, where hardly
	// anything ever comes.
	policyBeat = 5 * time.Second
	// consumerIdle is when the server forgets a consumer that nobody asks.
	consumerIdle = time.Minute
)

// rangeOf asks until the stream's leader answers that has all that was acknowledged by
// now. With less, recovery would end before the newest requests, or take up a request
// whose outcome it has not seen.
func (in *intake) rangeOf(ctx context.Context, stream string) (r store.Range, err error) {
	told := in.term.insist(ctx, "look at "+stream, func(ctx context.Context) (err error) {
		r, err = in.term.b.store.CommittedRange(ctx, stream)
		return err
	})
	if !told {
		return r, ctx.Err()
	}
	return r, nil
}

// reach waits until everything up to a sequence has been delivered. Messages may
// have been deleted meanwhile, so now and then the leader is asked whether there
// is anything left to wait for.
func (x *tail) reach(ctx context.Context, st *store.Store, last uint64) error {
	look := time.NewTicker(200 * time.Millisecond)
	defer look.Stop()
	for x.seq.Load() < last {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-x.moved:
		case <-look.C:
			try, cancel := context.WithTimeout(ctx, tryTimeout)
			none, err := st.NothingFrom(try, x.stream, x.seq.Load()+1, last)
			cancel()
			if err == nil && none {
				return nil
			}
		}
	}
	return nil
}

// readDone reads DONE from its first message on. Holes mean nothing yet, and a store
// that was killed may keep them: what is gone from DONE was gone from REQ before,
// and REQ is read later.
func (in *intake) readDone(ctx context.Context) error {
	r, err := in.rangeOf(ctx, in.done.stream)
	if err != nil {
		return err
	}
	if err := in.consume(ctx, in.done, r, false, in.onDone); err != nil {
		return err
	}
	in.done.pass(in.done.end)
	return nil
}

// doneToEnd waits until what DONE holds now has been delivered. It fails when the
// context ends, or with errHole.
func (in *intake) doneToEnd(ctx context.Context) error {
	r, err := in.rangeOf(ctx, in.done.stream)
	if err != nil {
		return err
	}
	if err := in.done.reach(ctx, in.term.b.store, r.Last); err != nil {
		return err
	}
	return in.done.whole(r.Last)
}

func (in *intake) onDone(m jetstream.Msg) {
	t := in.term
	meta, err := m.Metadata()
	if err != nil {
		t.fail(fmt.Errorf("DONE: %w", err))
		return
	}
	seq := meta.Sequence.Stream
	defer in.done.at(seq)
	if seq > in.done.end && seq != max(in.done.seq.Load(), in.done.end)+1 {
		t.fail(fmt.Errorf("recovering anew: DONE has a hole before %d that this leader did not make", seq))
		return
	}
	ev := arbiter.Done{Seq: seq}
	if err := wire.Decode(m.Data(), &ev.Done); err != nil || m.Subject() != t.b.cfg.Names.Done(ev.Done.Worker) {
		t.b.metrics.unreadable("done")
		t.b.log.Warn().Err(err).Uint64("seq", seq).Str("subject", m.Subject()).Msg("a message in DONE is not an agent's; passing over it")
		t.clean.alien(seq)
		return
	}
	t.post(ev)
}

// readReq reads REQ from its first message on.
func (in *intake) readReq(ctx context.Context) error {
	r, err := in.rangeOf(ctx, in.req.stream)
	if err != nil {
		return err
	}
	in.term.clean.startAt(r.First)
	return in.consume(ctx, in.req, r, true, in.onReq)
}

func (in *intake) onReq(m jetstream.Msg) {
	t := in.term
	meta, err := m.Metadata()
	if err != nil {
		t.fail(fmt.Errorf("REQ: %w", err))
		return
	}
	h := m.Headers()
	size, err := strconv.Atoi(wire.Last(h, wire.HeaderMsgSize))
	if err != nil {
		size = len(m.Data())
	}
	q, refusal := t.b.rules.ParseRequest(wire.Message{Subject: m.Subject(), Header: h, Size: size})
	t.post(arbiter.Arrived{ID: meta.Sequence.Stream, At: meta.Timestamp, Request: q, Refusal: refusal})
	in.req.at(meta.Sequence.Stream)
}

// fail ends the term.
func (t *term) fail(err error) {
	t.ask(func() { t.broken = err })
}
