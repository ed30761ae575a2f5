package broker

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"fairlead/internal/store"
	"fairlead/wire"
)

// cleaner removes finished requests from REQ, and then what DONE says of them.
// DONE is purged only through a prefix whose every request is confirmed gone by
// the leader of REQ: the answer to a purge or a delete is that confirmation.
type cleaner struct {
	b    *Broker
	wake chan struct{}

	behind int // rounds in a row in which REQ's leader had nothing as new as a report; of the rounds' goroutine

	mu      sync.Mutex
	reqs    window
	purged  uint64 // REQ holds nothing below
	reports []report
	then    map[uint64]func() // to call once a request is gone
	stuck   uint64            // the lowest unfinished request a while ago
}

// report is a message of DONE that is still there.
type report struct {
	seq, id uint64
	final   bool // it may be the request's outcome
	free    bool // not needed whatever becomes of the request
}

const (
	cleanPause  = 20 * time.Millisecond // gathers what one purge can remove
	stuckPause  = time.Second           // after so long without progress, single deletes are worth it
	looseBatch  = 4096                  // so many scattered requests are worth it at once
	deleteLanes = 8                     // single deletes under way
	mostBehind  = 10                    // rounds that an elected leader may take to show all that was acknowledged
)

func newCleaner(b *Broker) *cleaner {
	return &cleaner{b: b, wake: make(chan struct{}, 1), then: map[uint64]func(){}, reqs: newWindow(1), purged: 1}
}

// startAt is called before the first request arrives: REQ begins at first.
func (c *cleaner) startAt(first uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reqs = newWindow(first)
	c.purged = first
}

// readTo says that REQ has been read up to a sequence: what was not seen is gone.
func (c *cleaner) readTo(last uint64) {
	c.mu.Lock()
	c.reqs.skipTo(last + 1)
	c.mu.Unlock()
	c.hint()
}

func (c *cleaner) arrived(id uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reqs.see(id)
}

// seen takes in a message of DONE.
func (c *cleaner) seen(seq, id uint64, status wire.Status) {
	c.mu.Lock()
	c.reports = append(c.reports, report{seq: seq, id: id, final: status.Final()})
	gone := c.reqs.isGone(id)
	c.mu.Unlock()
	if gone {
		c.hint()
	}
}

// alien takes in a message of DONE that no agent wrote: it says nothing.
func (c *cleaner) alien(seq uint64) {
	c.mu.Lock()
	c.reports = append(c.reports, report{seq: seq, free: true})
	c.mu.Unlock()
	c.hint()
}

// release says that a message of DONE that gave a request back is not needed any
// more. One that may be an outcome stays until its request is gone, whoever says
// what: this broker may have been deposed without knowing it yet.
func (c *cleaner) release(seq uint64) {
	c.mu.Lock()
	i, ok := slices.BinarySearchFunc(c.reports, seq, func(r report, s uint64) int { return int(int64(r.seq - s)) })
	if ok && !c.reports[i].final {
		c.reports[i].free = true
	}
	c.mu.Unlock()
	c.hint()
}

// finish says that a request is over and its claims are gone; then, which may be
// nil, is called when REQ no longer holds it.
func (c *cleaner) finish(id uint64, then func()) {
	c.mu.Lock()
	gone := c.reqs.isGone(id)
	c.reqs.finish(id)
	if then != nil && !gone {
		c.then[id] = then
	}
	c.mu.Unlock()
	if then != nil && gone {
		then()
	}
	c.hint()
}

func (c *cleaner) hint() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// run cleans until the context ends; failures are tried again, less and less
// often.
func (c *cleaner) run(ctx context.Context) error {
	retry, failures := patient(), 0
	slow := time.NewTicker(stuckPause)
	defer slow.Stop()
	for {
		look := false
		select {
		case <-ctx.Done():
			return nil
		case <-c.wake:
		case <-slow.C:
			look = true
		}
		err := c.clean(ctx, look)
		wait := cleanPause
		if err != nil && ctx.Err() == nil {
			if failures++; failures == 1 {
				c.b.log.Warn().Err(err).Msg("cleaning: trying again")
			}
			c.b.metrics.storeRetry()
			wait = retry.NextBackOff()
			c.hint()
		} else {
			failures = 0
			retry.Reset()
		}
		if pause(ctx, wait) != nil {
			return nil
		}
	}
}

// clean makes one round.
func (c *cleaner) clean(ctx context.Context, look bool) error {
	if err := c.purgeReq(ctx); err != nil {
		return err
	}
	if err := c.deleteScattered(ctx, look); err != nil {
		return err
	}
	return c.purgeDone(ctx)
}

func (c *cleaner) purgeReq(ctx context.Context) error {
	c.mu.Lock()
	low, purged := c.reqs.low, c.purged
	c.mu.Unlock()
	if low <= purged {
		return nil
	}
	if err := c.b.store.PurgeBelow(ctx, c.b.cfg.Names.StreamREQ(), low); err != nil {
		return err
	}
	c.mu.Lock()
	c.reqs.purged(low)
	c.purged = low
	var call []func()
	for id, fn := range c.then {
		if id < low {
			call = append(call, fn)
			delete(c.then, id)
		}
	}
	c.mu.Unlock()
	for _, fn := range call {
		fn()
	}
	return nil
}

// deleteScattered deletes finished requests above an unfinished one, when there
// are many of them or that one has not moved for a while.
func (c *cleaner) deleteScattered(ctx context.Context, look bool) error {
	c.mu.Lock()
	var ids []uint64
	if c.reqs.loose >= looseBatch || look && c.reqs.low == c.stuck {
		ids = c.reqs.scattered(2 * looseBatch)
	}
	if look {
		c.stuck = c.reqs.low
	}
	c.mu.Unlock()
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(deleteLanes)
	for _, id := range ids {
		g.Go(func() error { return c.deleteOne(ctx, id) })
	}
	return g.Wait()
}

func (c *cleaner) deleteOne(ctx context.Context, id uint64) error {
	if err := c.b.store.Delete(ctx, c.b.cfg.Names.StreamREQ(), id); err != nil {
		return err
	}
	c.mu.Lock()
	c.reqs.deleted(id)
	fn := c.then[id]
	delete(c.then, id)
	c.mu.Unlock()
	if fn != nil {
		fn()
	}
	return nil
}

func (c *cleaner) purgeDone(ctx context.Context) error {
	if err := c.askUnknown(ctx); err != nil {
		return err
	}
	c.mu.Lock()
	n := 0
	for n < len(c.reports) && c.reports[n].spent(&c.reqs) {
		n++
	}
	last := uint64(0)
	if n > 0 {
		last = c.reports[n-1].seq
	}
	c.mu.Unlock()
	if n == 0 {
		return nil
	}
	if err := c.b.store.PurgeBelow(ctx, c.b.cfg.Names.StreamDONE(), last+1); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reports = slices.Delete(c.reports, 0, n)
	return nil
}

// spent reports whether DONE need not hold the report any longer.
func (r *report) spent(reqs *window) bool { return r.free || reqs.isGone(r.id) }

// askUnknown asks the leader of REQ about the first report, when that is about a
// request that was never seen here: it would hold up all that follow.
func (c *cleaner) askUnknown(ctx context.Context) error {
	c.mu.Lock()
	ask := len(c.reports) > 0 && !c.reports[0].free && c.reports[0].id >= c.reqs.next
	var first report
	if ask {
		first = c.reports[0]
	}
	c.mu.Unlock()
	if !ask {
		return nil
	}
	_, err := c.b.store.LeaderGet(ctx, c.b.cfg.Names.StreamREQ(), first.id)
	if errors.Is(err, store.ErrBehind) {
		if c.behind++; c.behind < mostBehind {
			return nil // a leader that has just been elected; a later round asks again
		}
		err = store.ErrNotFound // nobody ever asked it: whoever reported it made it up
	}
	if !errors.Is(err, store.ErrNotFound) {
		return err // it is there after all, and will be seen
	}
	c.behind = 0
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reports[0].free = true
	c.hint()
	return nil
}
