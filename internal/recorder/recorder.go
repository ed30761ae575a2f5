package recorder

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"fairlead/internal/store"
	"fairlead/trace"
	"fairlead/wire"
)

// Config is a recording to be made. All fields are required but for Ready.
type Config struct {
	Store *store.Store
	Out   io.Writer
	Rules wire.Rules
	Ready func() // called once everything is listened to
}

// buffer is how many messages may wait for the recorder.
const buffer = 1 << 16

// flushEvery is how long a line may stay in memory.
const flushEvery = time.Second

// recorder is one recording. The goroutine of Run owns everything.
type recorder struct {
	Config
	started time.Time     // by the clock of the store
	offset  time.Duration // that the store's clock is ahead
	book    *book
	out     *bufio.Writer
	err     error // of writing
	taps    []*nats.Subscription
	heard   chan *nats.Msg
	asked   chan arrival
	breaks  uint64 // of the connection, before the recording
}

type arrival struct {
	id      uint64
	at      time.Time
	request wire.Request
	refused bool // it cannot be read
}

// Run records until ctx ends, which is no error, and says what it wrote.
func Run(ctx context.Context, cfg Config) (Count, error) {
	r := &recorder{Config: cfg, out: bufio.NewWriter(cfg.Out), heard: make(chan *nats.Msg, buffer), asked: make(chan arrival, 256)}
	r.book = newBook(r.write)
	if err := r.clock(ctx); err != nil {
		return Count{}, err
	}
	r.breaks = r.Store.NC.Stats().Reconnects
	if err := r.tap(); err != nil {
		return Count{}, err
	}
	defer r.untap()
	stop, err := r.consume(ctx)
	if err != nil {
		return Count{}, err
	}
	if cfg.Ready != nil {
		cfg.Ready()
	}
	err = r.loop(ctx)
	stop()
	if err == nil {
		err = r.finish()
	}
	return r.book.count, err
}

// clockTries is how often the store is asked for its time; the fastest answer counts.
const clockTries = 5

// clock compares the store's clock with this machine's, and writes the head.
func (r *recorder) clock(ctx context.Context) error {
	best := time.Duration(0)
	for i := range clockTries {
		asked := time.Now()
		s, err := r.Store.JS.Stream(ctx, r.Store.Names.StreamREQ())
		if err != nil {
			return fmt.Errorf("ask the store for its time: %w", err)
		}
		took := time.Since(asked)
		r.book.before = s.CachedInfo().State.LastSeq
		if i == 0 || took < best {
			best, r.offset = took, s.CachedInfo().TimeStamp.Sub(asked.Add(took/2))
		}
	}
	r.started = time.Now().Add(r.offset)
	r.write(trace.RecordingHead{
		Version: trace.RecordingVersion, Started: r.started.UTC(), ClockNS: int64(best / 2), Names: r.Store.Names.Namespace(),
	})
	return r.err
}

// since is an instant of the store's clock in the recording.
func (r *recorder) since(at time.Time) int64 { return int64(at.Sub(r.started)) }

// now is the present instant in the recording.
func (r *recorder) now() int64 { return r.since(time.Now().Add(r.offset)) }

func (r *recorder) write(line any) {
	if r.err == nil {
		r.err = trace.WriteLine(r.out, line)
	}
}

// tap listens to everything but REQ, whose messages hold prompts.
func (r *recorder) tap() error {
	n := r.Store.Names
	for _, subject := range []string{anyOf(n.Work("*", 0)), n.Done("*"), n.Ev("*"), n.Load("*"), anyOf(n.Verdict(0))} {
		sub, err := r.Store.NC.ChanSubscribe(subject, r.heard)
		if err != nil {
			return fmt.Errorf("listen to %s: %w", subject, err)
		}
		r.taps = append(r.taps, sub)
	}
	return nil
}

// anyOf makes a wildcard of a subject that ends in the number 0.
func anyOf(subject string) string { return strings.TrimSuffix(subject, "0") + "*" }

func (r *recorder) untap() {
	for _, sub := range r.taps {
		_ = sub.Unsubscribe() // fails only when the connection is gone, and the subscription with it
	}
}

// consume reads the headers of REQ, from what waits there on.
func (r *recorder) consume(ctx context.Context) (stop func(), err error) {
	stream := r.Store.Names.StreamREQ()
	cons, err := r.Store.JS.OrderedConsumer(ctx, stream, jetstream.OrderedConsumerConfig{HeadersOnly: true})
	if err != nil {
		return nil, fmt.Errorf("consumer of %s: %w", stream, err)
	}
	over := make(chan struct{})
	c, err := cons.Consume(func(m jetstream.Msg) { r.onRequest(m, over) })
	if err != nil {
		return nil, fmt.Errorf("consume %s: %w", stream, err)
	}
	return func() {
		close(over)
		c.Stop()
		<-c.Closed()
	}, nil
}

func (r *recorder) onRequest(m jetstream.Msg, over <-chan struct{}) {
	meta, err := m.Metadata()
	if err != nil {
		return // no message of a stream
	}
	size, err := strconv.Atoi(wire.Last(m.Headers(), wire.HeaderMsgSize))
	if err != nil {
		size = len(m.Data())
	}
	q, refusal := r.Rules.ParseRequest(wire.Message{Subject: m.Subject(), Header: wire.Header(m.Headers()), Size: size})
	select {
	case r.asked <- arrival{id: meta.Sequence.Stream, at: meta.Timestamp, request: q, refused: refusal != nil}:
	case <-over:
	}
}

func (r *recorder) loop(ctx context.Context) error {
	flush := time.NewTicker(flushEvery)
	defer flush.Stop()
	for {
		select {
		case m := <-r.heard:
			r.hear(m, r.now())
		case q := <-r.asked:
			r.take(&q)
		case <-flush.C:
			if err := r.out.Flush(); err != nil {
				r.err = err
			}
		case <-ctx.Done():
			r.linger()
			return nil
		}
		if r.err != nil {
			return fmt.Errorf("write the recording: %w", r.err)
		}
	}
}

// lingerFor is how long headers may lag behind a claim when the recording ends.
const lingerFor = time.Second

// linger waits a moment for the headers of requests that are known by their claims.
func (r *recorder) linger() {
	late := time.NewTimer(lingerFor)
	defer late.Stop()
	for len(r.heard) > 0 {
		r.hear(<-r.heard, r.now())
	}
	for r.book.lacks() {
		select {
		case q := <-r.asked:
			r.take(&q)
		case <-late.C:
			return
		}
	}
}

// take takes in a message of REQ.
func (r *recorder) take(q *arrival) {
	if q.refused {
		r.book.unreadable(q.id)
		return
	}
	r.book.arrived(q.id, r.since(q.at), &q.request)
}

// hear takes in what was published.
func (r *recorder) hear(m *nats.Msg, at int64) {
	n := r.Store.Names
	switch m.Sub {
	case r.taps[0]:
		var c wire.Claim
		if worker, _, ok := n.SplitWork(m.Subject); ok && wire.Decode(m.Data, &c) == nil {
			r.book.claimed(&c, worker, at)
		}
	case r.taps[1]:
		var d wire.Done
		if wire.Decode(m.Data, &d) == nil {
			r.book.done(&d, at)
		}
	case r.taps[2]:
		var e wire.Event
		if wire.Decode(m.Data, &e) == nil {
			r.book.progressed(&e, at)
		}
	case r.taps[3]:
		var h wire.Heartbeat
		if wire.Decode(m.Data, &h) == nil {
			r.book.beat(&h, at)
		}
	default:
		var v wire.Verdict
		if wire.Decode(m.Data, &v) == nil {
			r.book.judged(&v)
		}
	}
}

// errOverrun says that messages came faster than they could be taken in.
var errOverrun = errors.New("the recording has gaps: messages came faster than they could be written")

// finish takes in what has been heard, and writes the rest.
func (r *recorder) finish() error {
	for len(r.heard) > 0 {
		r.hear(<-r.heard, r.now())
	}
	for len(r.asked) > 0 {
		q := <-r.asked
		r.take(&q)
	}
	r.book.close()
	r.book.count.Breaks = r.Store.NC.Stats().Reconnects - r.breaks
	if missed := r.book.count.Missed; missed > 0 {
		r.write(trace.RecordingHead{Version: trace.RecordingVersion, Started: r.started.UTC(), Missed: missed})
	}
	if r.err == nil {
		r.err = r.out.Flush()
	}
	if r.err != nil {
		return fmt.Errorf("write the recording: %w", r.err)
	}
	for _, sub := range r.taps {
		if n, err := sub.Dropped(); err == nil && n > 0 {
			return fmt.Errorf("%w: %d on %s", errOverrun, n, sub.Subject)
		}
	}
	return nil
}
