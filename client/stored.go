package client

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cenkalti/backoff/v5"

	"fairlead/internal/store"
	"fairlead/wire"
)

// reader is the state of reading a stored result. A subscription hears what is
// being stored, reads of the store tell what was stored before; no consumer is
// needed for either.
type reader struct {
	attached bool
	seq      uint64    // highest sequence of RES read
	again    time.Time // when to read once more; zero never
	tries    int       // reads that left a gap
	partway  bool      // a read has stopped for what it found to be shown first
	ended    time.Time // when a read began that found nothing new of a request that the leader calls ended; zero none
}

const (
	settleTime = 2 * time.Second       // until every server of a cluster knows of the subscription
	gapWait    = 10 * time.Millisecond // for a message that is sent but not stored yet; doubled at every try
	gapTries   = 7
	lateWait   = time.Second // between two reads that find nothing until a result is lost: a just-elected leader shows less than is stored
	readBatch  = 256
)

// Await reads the result of a request that was asked without an inbox, by its
// id, as it is stored and as it comes. It may be called for as long as results
// are kept; an id that nobody knows ends with result_lost. The *[Pending] need
// not be closed once it has an outcome.
func (c *Client) Await(ctx context.Context, id uint64) (*Pending, error) {
	if id == 0 {
		return nil, newError(wire.InvalidRequest, "id 0; want the id of a receipt")
	}
	p := c.newPending(true, false)
	c.taken(p, id, 0)
	if err := p.attach(); err != nil {
		return nil, err
	}
	if err := p.catchUp(ctx); err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

// attach begins to listen for a stored result. Until its reader comes, a stored
// request costs nothing but itself.
func (p *Pending) attach() error {
	p.mu.Lock()
	if !p.stored || p.reader.attached || p.asm.ended() {
		p.mu.Unlock()
		return nil
	}
	p.missed, p.asm.reading, p.doubt = true, true, doubted
	p.mu.Unlock()
	if err := p.c.listen(p); err != nil {
		return err
	}
	p.reader.attached = true
	p.reader.again = time.Now().Add(settleTime)
	return nil
}

// catchUp reads the store when there is reason to.
func (p *Pending) catchUp(ctx context.Context) error {
	p.mu.Lock()
	due := p.stored && !p.asm.ended() && (p.missed || p.asm.behind() && (p.reader.tries == 0 || p.reader.again.IsZero()))
	late := p.late
	if due {
		p.missed, p.asm.reading = false, true
	}
	p.mu.Unlock()
	if !due {
		return nil
	}
	started, before := time.Now(), p.reader.seq
	if err := p.readStored(ctx); err != nil {
		p.mu.Lock()
		p.missed = true // a later call begins here
		p.mu.Unlock()
		return fmt.Errorf("read %s: %w", p.subject, err)
	}
	lost := late && p.reader.foundNothing(started, before)
	if !p.reader.partway {
		p.settle(lost)
	}
	return nil
}

// foundNothing takes a read that began then, of a request that has ended, and reports
// whether this was the second one without anything new.
func (r *reader) foundNothing(started time.Time, before uint64) bool {
	if r.ended.IsZero() || r.seq > before {
		r.ended = started
	}
	return started.Sub(r.ended) >= lateWait
}

// settle takes what came while the store was read. What is lost was looked for in
// vain, but it may have been heard.
func (p *Pending) settle(lost bool) {
	p.mu.Lock()
	p.reader.tries++
	p.asm.catchUp(lost || p.reader.tries >= gapTries)
	switch {
	case p.asm.behind():
		p.reader.again = time.Now().Add(gapWait << (p.reader.tries - 1))
	case p.late:
		p.reader.tries, p.reader.again = 0, p.reader.ended.Add(lateWait)
	default:
		p.reader.tries = 0
	}
	if lost {
		e := newError(wire.ResultLost, "it has ended, or never was, and %s holds no result", p.subject)
		e.ID = p.ID
		p.asm.fail(e)
	}
	ended, doubted := p.asm.ended(), p.doubt != trusted
	p.mu.Unlock()
	switch {
	case ended:
		p.release()
	case doubted:
		p.c.kick()
	}
}

// readStored reads what the stream's leader says is stored, repeating what a
// lagging replica, an election or a lost connection spoils: like a request with
// an inbox, it waits as long as ctx allows. What was read and is not there any more
// has expired, when a leader says so for long enough.
func (p *Pending) readStored(ctx context.Context) error {
	started := time.Now()
	_, err := backoff.Retry(ctx, func() (struct{}, error) {
		err := p.readOnce(ctx)
		over := time.Since(started) > nobodyWait
		switch {
		case errors.Is(err, store.ErrBehind) && over:
			err = nil
		case err != nil && (ctx.Err() != nil || !repeatable(err) || absent(err) && over):
			err = backoff.Permanent(err)
		}
		return struct{}{}, err
	}, backoff.WithBackOff(quickBackoff()), backoff.WithMaxElapsedTime(0))
	return err
}

func (p *Pending) readOnce(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, ackWait)
	defer cancel()
	st := p.c.store
	last, err := st.LeaderLast(ctx, st.Names.StreamRES(), p.subject)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return err
	}
	if last.Seq < p.reader.seq {
		return store.ErrBehind
	}
	for p.reader.seq < last.Seq {
		if err := p.readSome(ctx); err != nil {
			return err
		}
		if p.full() {
			p.reader.partway = p.reader.seq < last.Seq
			return nil
		}
	}
	return nil
}

func (p *Pending) full() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.asm.full()
}

// readOn makes the next step go on with a read that has stopped.
func (p *Pending) readOn() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.missed, p.reader.partway = true, false
}

// readSome reads one batch, or as much of it as there is room for; it fails when
// nothing more is there.
func (p *Pending) readSome(ctx context.Context) error {
	st := p.c.store
	for m, err := range st.Batch(ctx, st.Names.StreamRES(), p.subject, p.reader.seq+1, readBatch) {
		if err != nil {
			return err
		}
		p.reader.seq = m.Seq
		rm, perr := wire.ParseResult(m.Header)
		if perr != nil || rm.ID != p.ID {
			continue // not a worker's
		}
		p.mu.Lock()
		p.asm.addStored(rm, payload{m.Data, wire.First(m.Header, wire.HeaderContentType)})
		full := p.asm.full()
		p.mu.Unlock()
		if full {
			break
		}
	}
	return nil
}
