package mock

import (
	"sync/atomic"
	"time"

	"fairlead/agent/engine"
)

// maxLag bounds how far the loop runs behind its own schedule before it lets
// the lost time go; within it, late steps are caught up with.
const maxLag = 100 * time.Millisecond

// call is one Run. The loop writes produced and wakes Run through more; Run
// emits at its own pace, so that a slow reader never holds up the batch.
type call struct {
	answer   *answer
	fate     FailureKind
	key      uint64 // the loop's name for it
	produced atomic.Int64
	emitted  int64 // owned by Run
	more     chan struct{}
}

func newCall(a *answer, fate Failure) *call {
	return &call{answer: a, fate: fate.Kind, more: make(chan struct{}, 1)}
}

// half is how far an answer gets that dies on the way.
func (c *call) half() int64 { return (c.answer.output + 1) / 2 }

// visible is how many tokens Run may emit by now.
func (c *call) visible() int64 {
	if c.fate == Die {
		return min(c.produced.Load(), c.half())
	}
	return c.produced.Load()
}

func (c *call) job() Job {
	return Job{Uncached: c.answer.uncached(), Output: c.answer.output, Slow: c.fate == Slow, Stuck: c.fate == Hang}
}

// emitUpTo emits chunks of stride tokens until n tokens are out.
func (c *call) emitUpTo(n, stride int64, emit engine.Emit) error {
	for c.emitted < n {
		to := min(c.emitted+stride, n)
		if c.answer.stream {
			if err := emit(c.answer.chunk(c.emitted, to)); err != nil {
				return err
			}
		}
		c.emitted = to
	}
	return nil
}

// finish emits the closing chunks of a stream, or fills in the whole body.
func (c *call) finish(res engine.Result, emit engine.Emit) (engine.Result, error) {
	if !c.answer.stream {
		res.Body, res.ContentType = c.answer.whole(), "application/json"
		return res, nil
	}
	res.ContentType = "text/event-stream"
	for _, chunk := range c.answer.closing() {
		if err := emit(chunk); err != nil {
			return res, err
		}
	}
	return res, nil
}

// change is a call that comes, or leaves before its end.
type change struct {
	call   *call
	leaves bool
}

// loop owns the model. Calls come and go at any time; each step's time passes
// before the step's tokens are handed out.
func (e *Engine) loop(m *Model) {
	defer close(e.ended)
	l := newLoop(e, m)
	defer l.timer.Stop()
	for {
		took, out, ok := m.Step()
		if !ok {
			if !l.idle() {
				return
			}
			continue
		}
		if !l.pass(time.Duration(float64(took) / e.cfg.Speedup)) {
			return
		}
		for _, p := range out {
			l.hand(p)
		}
	}
}

// loopState is what only the loop's goroutine touches.
type loopState struct {
	engine *Engine
	model  *Model
	calls  map[uint64]*call
	last   uint64    // last key given out
	due    time.Time // when the current step is over
	timer  *time.Timer
	now    chan time.Time // always ready: the wait of a step that is already over
}

func newLoop(e *Engine, m *Model) *loopState {
	l := &loopState{engine: e, model: m, calls: map[uint64]*call{}, timer: time.NewTimer(0), now: make(chan time.Time)}
	close(l.now)
	return l
}

// idle waits for a change; false when the engine closes.
func (l *loopState) idle() bool {
	select {
	case c := <-l.engine.changes:
		l.apply(c)
		l.due = time.Now()
		return true
	case <-l.engine.stop:
		return false
	}
}

// pass waits until the step is over, open to changes meanwhile; false when the
// engine closes. A step ends relative to the end of the one before, so that
// late wake-ups do not add up.
func (l *loopState) pass(took time.Duration) bool {
	now := time.Now()
	if now.Sub(l.due) > maxLag {
		l.due = now
	}
	l.due = l.due.Add(took)
	over := (<-chan time.Time)(l.now)
	if l.due.After(now) {
		l.timer.Reset(l.due.Sub(now))
		over = l.timer.C
	}
	for {
		select {
		case c := <-l.engine.changes:
			l.apply(c)
		case <-over:
			return true
		case <-l.engine.stop:
			return false
		}
	}
}

func (l *loopState) apply(c change) {
	if c.leaves {
		l.remove(c.call)
		return
	}
	l.add(c.call)
}

func (l *loopState) add(c *call) {
	l.last++
	c.key = l.last
	l.calls[c.key] = c
	l.model.Add(c.key, c.job())
}

func (l *loopState) remove(c *call) {
	delete(l.calls, c.key)
	l.model.Remove(c.key)
}

func (l *loopState) hand(p Progress) {
	c, ok := l.calls[p.ID]
	if !ok {
		return
	}
	if p.Done {
		delete(l.calls, p.ID)
	}
	c.produced.Store(p.Produced)
	select {
	case c.more <- struct{}{}:
	default:
	}
}
