package batch

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
)

// Why the lines of a batch are not gone on with.
var (
	errCancelled = errors.New("the batch was cancelled")
	errExpired   = errors.New("the batch has expired")
)

// run is a batch that this gateway holds.
type run struct {
	*Runner
	b      *buckets
	owner  string
	id     string
	window *semaphore.Weighted

	mu     sync.Mutex // guards what follows
	counts Counts
	states map[int]state // of lines that were asked
}

// batch takes a batch to its end.
func (r *Runner) batch(ctx context.Context, id string) error {
	b, err := r.Store.open(ctx)
	if err != nil {
		return err
	}
	mark, err := r.Store.last(ctx, b.records, activeKey(id))
	if errors.Is(err, ErrNotFound) {
		return nil // it has ended meanwhile
	}
	if err != nil {
		return err
	}
	x := &run{Runner: r, b: b, owner: string(mark.Data), id: id, window: semaphore.NewWeighted(int64(r.Store.limits.Window)), states: map[int]state{}}
	rec, err := x.take(ctx)
	for errors.Is(err, ErrNotFound) && time.Since(mark.Time) < settle { // it is being created
		sleep(ctx, busyWait)
		rec, err = x.take(ctx)
	}
	if errors.Is(err, ErrNotFound) {
		return b.records.Purge(ctx, activeKey(id)) // it was never created, or has expired
	}
	for err == nil && !rec.Status.Ended() {
		rec, err = x.step(ctx, rec)
	}
	if err != nil {
		return err
	}
	return x.clean(ctx)
}

// take makes this run the one that may change the record.
func (x *run) take(ctx context.Context) (Batch, error) {
	return x.Store.change(ctx, x.owner, x.id, func(b *Batch) error {
		b.Holder = x.holder
		return nil
	})
}

// step takes the batch from one state to the next.
func (x *run) step(ctx context.Context, rec Batch) (Batch, error) {
	switch rec.Status {
	case Validating:
		return x.validate(ctx, rec)
	case InProgress:
		return x.process(ctx, rec)
	case Cancelling:
		if rec.InProgressAt == 0 { // before its first line
			return x.end(ctx, Cancelled)
		}
		return x.process(ctx, rec)
	case Finalizing:
		return x.finalise(ctx, rec)
	}
	return rec, fmt.Errorf("the batch %s has the unknown status %q", x.id, rec.Status)
}

// set changes the record, as long as this run holds the batch.
func (x *run) set(ctx context.Context, f func(*Batch)) (Batch, error) {
	return x.Store.change(ctx, x.owner, x.id, func(b *Batch) error {
		if b.Holder != x.holder {
			return errLost
		}
		f(b)
		return nil
	})
}

func (x *run) end(ctx context.Context, s Status) (Batch, error) {
	return x.set(ctx, func(b *Batch) { b.Status, b.EndedAt = s, time.Now().Unix() })
}

func (x *run) validate(ctx context.Context, rec Batch) (Batch, error) {
	in, err := x.Store.check(ctx, &rec)
	if err != nil {
		return rec, err
	}
	models := slices.Sorted(maps.Keys(in.models))
	models = slices.DeleteFunc(models, func(m string) bool { return x.Serves(m) != nil })
	return x.set(ctx, func(b *Batch) {
		switch now := time.Now().Unix(); {
		case b.Status != Validating: // cancelled meanwhile
		case len(in.problems) > 0:
			b.Status, b.Problems, b.EndedAt = Failed, in.problems, now
		default:
			b.Status, b.Models, b.Counts, b.InProgressAt = InProgress, models, Counts{Total: in.total}, now
		}
	})
}

// process asks the lines that have no result yet.
func (x *run) process(ctx context.Context, rec Batch) (Batch, error) {
	if err := x.load(ctx); err != nil {
		return rec, err
	}
	x.counts.Total = rec.Counts.Total
	going, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var watcher, lines sync.WaitGroup
	watcher.Go(func() { x.watch(going, stop, rec.ExpiresAt) })
	err := x.feed(going, &rec, &lines)
	lines.Wait()
	cause := context.Cause(going)
	stop(nil)
	watcher.Wait()
	switch {
	case ctx.Err() != nil:
		return rec, context.Cause(ctx)
	case err != nil && cause == nil && !errors.Is(err, ErrNotFound): // a deleted input has no more lines
		return rec, err
	}
	ending := Completed
	if errors.Is(cause, errCancelled) {
		ending = Cancelled
	} else if errors.Is(cause, errExpired) {
		ending = Expired
	}
	return x.set(ctx, func(b *Batch) {
		b.Status, b.Ending, b.Counts, b.FinalizingAt = Finalizing, ending, x.counted(), time.Now().Unix()
	})
}

// feed starts a goroutine for each line, as many at once as the window allows.
func (x *run) feed(ctx context.Context, rec *Batch, lines *sync.WaitGroup) error {
	for n, from := 0, int64(0); ; {
		seg, err := x.Store.segment(ctx, rec.Owner, rec.Input, from)
		if err != nil {
			return err
		}
		for _, text := range seg.lines {
			n++
			st := x.state(n)
			if st.Done {
				continue
			}
			if err := x.window.Acquire(ctx, 1); err != nil {
				return context.Cause(ctx)
			}
			number := n
			lines.Go(func() {
				defer x.window.Release(1)
				x.line(ctx, asking{n: number, text: text, batch: rec, state: st})
			})
		}
		if seg.last {
			return nil
		}
		from = seg.next
	}
}

// watchEvery is how often counts are written down and cancels noticed.
const watchEvery = time.Second

// watch writes the counts down, and ends the lines of a batch that is cancelled,
// has expired, or is somebody else's.
func (x *run) watch(ctx context.Context, stop context.CancelCauseFunc, expires int64) {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for {
		if time.Now().Unix() >= expires {
			stop(errExpired)
			return
		}
		rec, err := x.set(ctx, func(b *Batch) { b.Counts = x.counted() })
		switch {
		case errors.Is(err, errLost):
			stop(errLost)
			return
		case err == nil && rec.Status == Cancelling:
			stop(errCancelled)
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

func (x *run) counted() Counts {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.counts
}

func (x *run) state(n int) state {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.states[n]
}
