package arbiter

import (
	"maps"
	"slices"
	"time"

	"fairlead/wire"
)

// sweepPause is the least time between two sweeps of a ring: each looks at every
// request that waits in it.
const sweepPause = int64(time.Second)

// fit says where a waiting request belongs.
type fit uint8

const (
	inLane  fit = iota
	outside     // of its lane, where it stands in nobody's way: no worker may serve it now
	nowhere     // its pin can never be met
)

// picky reports whether only some of the workers that serve the model may serve
// the request.
func (r *request) picky() bool {
	return r.ask != nil && (r.ask.pin != nil || r.ask.allow != nil || r.ask.require != nil)
}

// fit decides for a request by the fleet as it is. One that may go to any worker
// waits in its lane, which is blocked while there is none.
func (a *Arbiter) fit(r *request) fit {
	in := r.ring()
	switch {
	case !r.picky():
		return inLane
	case r.ask.pin != nil:
		if r.ask.pin.takes() && a.impossible(in, r) != "" {
			return nowhere
		}
		return inLane
	case in.alone != 0, slices.ContainsFunc(a.fleet.live, func(w *worker) bool { return suits(w, in, r) }):
		return inLane
	}
	return outside
}

// review moves the requests of a ring that the present fleet suits better or
// worse than the one before.
func (a *Arbiter) review(in *ring) {
	for _, id := range slices.Sorted(maps.Keys(in.picky)) {
		r := in.picky[id]
		if r.state == parked && in.alone != 0 {
			continue // nobody is there for anybody: its grace goes on
		}
		if now := a.fit(r); now == nowhere || (now == outside) != (r.state == parked) {
			a.leaveLane(r)
			a.enqueue(r)
		}
	}
}

// park keeps a request outside its lane.
func (a *Arbiter) park(r *request) {
	r.state = parked
	if r.ask.since == 0 {
		r.ask.since = a.now
	}
	r.ring().parked[r.Seq] = r
	r.cls.countParked(r, 1)
	a.beginWait(r)
	a.watch(r)
}

// unpark undoes park; the request is nowhere then.
func (a *Arbiter) unpark(r *request) {
	delete(r.ring().parked, r.Seq)
	r.cls.countParked(r, -1)
	a.endWait(r)
}

func (c *class) countParked(r *request, sign int64) {
	c.parked.Requests += int(sign)
	c.parked.Raw += sign * int64(r.Raw)
	c.parked.Cached += sign * int64(r.Cached)
	c.parked.Uncached += sign * r.Uncached()
}

// loosen drops a pin that is only a preference.
func (a *Arbiter) loosen(r *request) {
	a.leaveLane(r)
	a.unpin(r)
	r.ask.rank = wire.AnyRank
	a.enqueue(r)
}

// watch sees to it that a waiting request does not wait for ever when nobody can
// serve it.
func (a *Arbiter) watch(r *request) {
	at := a.helplessUntil(r)
	if a.found == nil && due(at, a.now) {
		a.giveUpWaiting(r)
		return
	}
	in := r.ring()
	in.sweepAt = earlier(in.sweepAt, at)
}

// helplessUntil is when a waiting request is given up unless a worker comes for
// it; 0 when one is there.
func (a *Arbiter) helplessUntil(r *request) int64 {
	in := r.ring()
	switch k := r.ask; {
	case k != nil && k.pin != nil:
		if k.pin.takes() {
			return 0
		}
		return max(r.Arrival, k.pin.away, a.started) + int64(r.cls.PinGrace)
	case r.state == parked:
		return k.since + int64(r.cls.NoWorkerGrace)
	case in.alone != 0:
		return max(r.Arrival, in.alone) + int64(r.cls.NoWorkerGrace)
	}
	return 0
}

// sweep gives up what has waited without a worker for longer than its grace.
func (a *Arbiter) sweep(in *ring) {
	in.sweepAt, in.swept = 0, a.now
	next := int64(0)
	helpless := a.waiting(in, func(r *request) bool {
		at := a.helplessUntil(r)
		if due(at, a.now) {
			return true
		}
		next = earlier(next, at)
		return false
	})
	for _, r := range helpless {
		a.giveUpWaiting(r)
	}
	if next != 0 {
		in.sweepAt = earlier(in.sweepAt, max(next, a.now+sweepPause))
	}
}

func (a *Arbiter) giveUpWaiting(r *request) {
	if k := r.ask; k != nil && k.pin != nil && k.soft {
		a.loosen(r)
		return
	}
	reason, detail := a.helpless(r)
	a.judge(r, reason, detail)
}

// helpless says for what a request is given up that nobody can serve.
func (a *Arbiter) helpless(r *request) (wire.Reason, string) {
	k, in := r.ask, r.ring()
	switch {
	case k != nil && k.pin != nil:
		return wire.WorkerGone, "worker " + quote(k.pin.name) + ", which it is pinned to, took no work for " + r.cls.PinGrace.String()
	case in.serving == 0 && in.model != "" && len(a.fleet.live) > 0:
		return wire.ModelNotFound, wire.HeaderModel + ": no worker has served " + quote(in.model) + " for " + r.cls.NoWorkerGrace.String()
	}
	return wire.NoWorker, "no eligible worker for " + r.cls.NoWorkerGrace.String()
}
