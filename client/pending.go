package client

import (
	"context"
	"fmt"
	"iter"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"fairlead/wire"
)

// Chunk is a piece of a streamed answer.
type Chunk struct {
	Index   int    // 0, 1, … within the attempt
	Data    []byte // one SSE data payload, without "data: "
	Attempt uint32
	Worker  string
	// Restart says, only when the request asked for [wire.RetryAlways]: forget
	// what was shown, the chunks of another attempt follow from the first. Such
	// a chunk carries no data.
	Restart bool
}

// Result is a request's outcome when it succeeded.
type Result struct {
	ID          uint64
	Attempt     uint32
	Worker      string
	Usage       wire.Usage
	ContentType string   // of Body, "" when the engine did not say
	Body        []byte   // the whole answer when it was not streamed, else empty
	Chunks      [][]byte // of a streamed answer, those that Chunks had not shown
}

// Pending is a request that was asked. One reader at a time may use Chunks and
// Result; every other method is safe for concurrent use.
type Pending struct {
	ID uint64 // sequence in REQ, the request's name everywhere
	// Duplicate says that the idempotency key was known: this is the receipt of
	// the first request.
	Duplicate bool

	c       *Client
	subject string
	stored  bool
	wake    chan struct{} // one signal for the reader
	until   time.Time     // when this side's clock ends it; zero never
	reader  reader        // stored only, and the reader's own

	mu     sync.Mutex // guards what follows
	asm    assembly
	body   string // in the bucket, "" none
	heard  uint64 // id that messages carried; 0 none yet
	sub    *nats.Subscription
	timer  *time.Timer // fires at until
	doubt  doubt
	since  time.Time // of suspected
	late   bool      // stored only: the leader says that it has ended long ago
	missed bool      // stored only: messages may have passed by, read once more
	quiet  time.Time // since when nothing was heard of it
	asked  int       // how often the leader was asked since then
}

// Chunks iterates over a streamed answer until its end. An error, an [*Error]
// when the request failed, is the last pair. When ctx ends the request goes on,
// and a later call continues where this one stopped.
func (p *Pending) Chunks(ctx context.Context) iter.Seq2[Chunk, error] {
	return func(yield func(Chunk, error) bool) {
		p.read(false)
		for {
			switch s := p.step(ctx); {
			case s.err != nil:
				yield(Chunk{}, s.err)
				return
			case s.kind == stepEnd || !yield(s.chunk, nil):
				return
			}
		}
	}
}

// Result waits for the outcome; an [*Error] says how the request failed. Of an
// execution that was cut short nothing is kept, so that another one may follow
// it. When ctx ends the request goes on: call Cancel to end it, or Result again.
func (p *Pending) Result(ctx context.Context) (*Result, error) {
	p.read(true)
	var chunks [][]byte
	for {
		switch s := p.step(ctx); {
		case s.err != nil:
			return nil, s.err
		case s.kind == stepEnd:
			return p.result(chunks), nil
		case s.chunk.Restart:
			chunks = nil
		default:
			chunks = append(chunks, s.chunk.Data)
		}
	}
}

func (p *Pending) result(chunks [][]byte) *Result {
	p.mu.Lock()
	defer p.mu.Unlock()
	r := p.asm.outcome
	return &Result{
		ID: p.ID, Attempt: r.origin.Attempt, Worker: r.origin.Worker, Usage: *r.final.Usage,
		ContentType: r.contentType, Body: r.data, Chunks: chunks,
	}
}

// Cancel asks the leader to end the request, and returns what it found. The
// outcome then is, unless another one was first, an [*Error] with the reason
// cancelled.
func (p *Pending) Cancel(ctx context.Context) (wire.CancelOutcome, error) {
	return p.c.Cancel(ctx, p.ID)
}

// Close stops listening. The request goes on until its worker notices that
// nobody listens; a stored one goes on to its end. Close may be called at any
// time, more than once, and also after the outcome.
func (p *Pending) Close() { p.fail(ErrClosed) }

// step waits for what the reader is to do next; it never returns stepWait.
func (p *Pending) step(ctx context.Context) step {
	if err := p.attach(); err != nil {
		return step{kind: stepEnd, err: err}
	}
	for {
		if !p.reader.partway {
			if err := p.catchUp(ctx); err != nil {
				return step{kind: stepEnd, err: err}
			}
		}
		if s := p.next(); s.kind != stepWait {
			return s
		}
		if p.reader.partway {
			p.readOn()
			continue
		}
		if err := p.wait(ctx); err != nil {
			return step{kind: stepEnd, err: fmt.Errorf("wait for request %d: %w", p.ID, err)}
		}
	}
}

func (p *Pending) read(whole bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asm.read(whole)
}

func (p *Pending) next() step {
	p.mu.Lock()
	s := p.asm.next()
	ended := p.asm.ended()
	p.mu.Unlock()
	if ended {
		p.release()
	}
	return s
}

// wait blocks until something was received, ctx ends, or the store is to be
// read once more.
func (p *Pending) wait(ctx context.Context) error {
	var again <-chan time.Time
	if !p.reader.again.IsZero() {
		t := time.NewTimer(time.Until(p.reader.again))
		defer t.Stop()
		again = t.C
	}
	select {
	case <-p.wake:
		return nil
	case <-again:
		p.mu.Lock()
		p.missed, p.reader.again = true, time.Time{}
		p.mu.Unlock()
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
