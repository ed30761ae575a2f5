package arbiter

import (
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
	in := r.ring()
	if k := r.ask; k != nil && k.pin != nil {
		a.judge(r, wire.InvalidRequest, a.impossible(in, r))
		return
	}
	r.state = parked
	r.rare().since = a.now
	in.parked[r.Seq] = r
	in.sweepAt = earlier(in.sweepAt, a.helplessUntil(r))
}

// helplessUntil is when a waiting request is given up unless a worker comes for
// it; 0 when one is there.
func (a *Arbiter) helplessUntil(r *request) int64 {
	in := r.ring()
	switch k := r.ask; {
	case k != nil && k.pin != nil:
		if k.pin.live {
			return 0
		}
		return max(r.Arrival, k.pin.lost, a.started) + int64(r.cls.PinGrace)
	case r.state == parked:
		return k.since + int64(r.cls.NoWorkerGrace)
	case in.alone != 0:
		return max(r.Arrival, in.alone) + int64(r.cls.NoWorkerGrace)
	}
	return 0
}

// sweep gives up what has waited without a worker for longer than its grace.
func (a *Arbiter) sweep(in *ring) {
	next := int64(0)
	for _, r := range a.waiting(in) {
		at := a.helplessUntil(r)
		if due(at, a.now) {
			a.giveUpWaiting(r)
		} else {
			next = earlier(next, at)
		}
	}
	in.sweepAt = 0
	if next != 0 {
		in.sweepAt = max(next, a.now+sweepPause)
	}
}

func (a *Arbiter) giveUpWaiting(r *request) {
	k := r.ask
	switch {
	case k != nil && k.pin != nil && k.soft:
		a.leaveLane(r)
		a.unpin(r)
		k.rank = wire.AnyRank
		a.enqueue(r)
	case k != nil && k.pin != nil:
		a.judge(r, wire.WorkerGone, "worker "+quote(k.pin.name)+", which it is pinned to, stayed away for "+r.cls.PinGrace.String())
	case r.ring().alone != 0 && r.ring().model != "" && len(a.fleet.live) > 0:
		a.judge(r, wire.ModelNotFound, wire.HeaderModel+": no worker has served "+quote(r.ring().model)+" for "+r.cls.NoWorkerGrace.String())
	default:
		a.judge(r, wire.NoWorker, "no eligible worker for "+r.cls.NoWorkerGrace.String())
	}
}
