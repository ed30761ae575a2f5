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

// helpless decides about a request that has left its lane and that no worker can
// serve: what can never be served is answered, anything else waits outside its
// lane for another fleet.
func (a *Arbiter) helpless(r *request) {
	switch k := r.ask; {
	case k == nil || k.pin == nil:
		a.park(r)
	case k.soft:
		a.loosen(r)
	default:
		a.judge(r, wire.InvalidRequest, a.impossible(r.ring(), r))
	}
}

// park keeps a request outside its lane.
func (a *Arbiter) park(r *request) {
	r.state = parked
	if k := r.rare(); k.since == 0 {
		k.since = a.now
	}
	r.ring().parked[r.Seq] = r
	r.cls.countParked(r, 1)
	a.watch(r)
}

// unpark undoes park; the request is nowhere then.
func (a *Arbiter) unpark(r *request) {
	delete(r.ring().parked, r.Seq)
	r.cls.countParked(r, -1)
}

func (c *class) countParked(r *request, sign int64) {
	c.parked.Requests += int(sign)
	c.parked.Raw += sign * int64(r.Raw)
	c.parked.Cached += sign * int64(r.Cached)
	c.parked.Uncached += sign * r.Uncached()
}

// retryParked lets those go back to their lane that somebody can serve now.
func (a *Arbiter) retryParked(in *ring) {
	for _, id := range slices.Sorted(maps.Keys(in.parked)) {
		r := in.parked[id]
		if slices.ContainsFunc(a.fleet.live, func(w *worker) bool { return eligibleFor(w, in, r) }) {
			a.unpark(r)
			r.ask.since = 0
			a.enqueue(r)
		}
	}
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
	k, in := r.ask, r.ring()
	switch {
	case k != nil && k.pin != nil && k.soft:
		a.loosen(r)
	case k != nil && k.pin != nil:
		a.judge(r, wire.WorkerGone, "worker "+quote(k.pin.name)+", which it is pinned to, took no work for "+r.cls.PinGrace.String())
	case in.alone != 0 && in.model != "" && len(a.fleet.live) > 0:
		a.judge(r, wire.ModelNotFound, wire.HeaderModel+": no worker has served "+quote(in.model)+" for "+r.cls.NoWorkerGrace.String())
	default:
		a.judge(r, wire.NoWorker, "no eligible worker for "+r.cls.NoWorkerGrace.String())
	}
}
