package arbiter

import (
	"fairlead/drr"
	"fairlead/policy"
	"fairlead/wire"
)

// check is what must hold after every step.
func (w *world) check(ev Event, acts []Action) {
	if err := w.arb.invariants(); err != nil {
		w.fail("after %#v: %v", ev, err)
	}
	var out []HandOut
	for _, act := range acts {
		if h, ok := act.(HandOut); ok {
			out = append(out, h)
		}
	}
	for i := range out {
		w.checkEligible(&out[i])
		w.checkInTime(&out[i])
	}
	w.checkOrder(out)
	w.checkDisplaced(ev)
	w.checkRoom(out)
	if w.arb.Recovered() && w.arb.free > w.arb.reserved() {
		w.checkNobodyWaits(ev)
	}
	if w.arb.Recovered() {
		w.checkPatience()
	}
	if w.rng.IntN(20) == 0 {
		w.checkStatus()
	}
	for _, in := range w.arb.order {
		w.tally.Parked += min(1, len(in.parked))
		for _, c := range in.classes {
			if d := in.sched.Deficit(c.index); d > c.Quantum+mostCharge {
				w.fail("class %s has saved up %d tokens, more than a quantum and a charge", c.Name, d)
			} else if d < 0 && !w.corrected || d < -mostJobs*mostCharge {
				w.fail("class %s has a debt of %d tokens", c.Name, -d)
			}
		}
	}
}

// checkPatience: nobody waits past a deadline, or for long past a grace. Time may
// have gone by since the last tick was due, but no more than until this step.
func (w *world) checkPatience() {
	for _, r := range w.arb.requests {
		if !r.waits() {
			continue
		}
		if due(r.Deadline, w.arb.now) {
			w.fail("%d waits past its deadline", r.Seq)
		}
		if at := w.arb.helplessUntil(r); at != 0 && due(at+2*sweepPause, w.arb.now) {
			w.fail("%d waits past its grace", r.Seq)
		}
	}
}

// checkStatus: what an operator is told adds up.
func (w *world) checkStatus() {
	st := w.arb.Status(w.clock())
	told, ids := 0, make([]uint64, 0, len(w.arb.requests))
	for i := range st.Classes {
		c := &st.Classes[i]
		told += c.Queued + c.Running
		if c.Queued < 0 || c.Running < 0 || c.QueuedTokens < 0 || c.OldestWaitMS < 0 || c.Share < 0 || c.Share > 1 || c.Jain < 0 || c.Jain > 1.0001 {
			w.fail("status of class %+v", *c)
		}
	}
	for id := range w.arb.requests {
		ids = append(ids, id)
	}
	known := 0
	for _, r := range w.arb.Requests(w.clock(), ids) {
		if r.State == wire.StateQueued || r.State == wire.StateRunning || w.arb.requests[r.ID].state == over {
			known++
		}
	}
	if told != known {
		w.fail("classes have %d requests, by their own state it is %d", told, known)
	}
	for _, s := range st.Workers {
		if s.Used < 0 || s.PrefillTokens < 0 || s.State == "" {
			w.fail("status of worker %+v", s)
		}
	}
}

// checkEligible: only who may serve it gets it.
func (w *world) checkEligible(h *HandOut) {
	r := w.arb.requests[h.Claim.ID]
	wk := w.arb.fleet.byName[h.Worker]
	if wk == nil || !wk.live || wk.incarnation != h.Incarnation || !wk.takes() || wk.holdUntil > w.arb.now || wk.overloaded || !mayServe(r, wk) {
		w.fail("%d was handed to %s, which may not have it", r.Seq, h.Worker)
	}
	if r.ask != nil && r.ask.pin != nil && r.ask.rank >= 0 && r.booking.rank != int(r.ask.rank) {
		w.fail("%d asked for rank %d and got %d", r.Seq, r.ask.rank, r.booking.rank)
	}
}

// mayServe is eligibility as the design words it, without regard to load.
func mayServe(r *request, wk *worker) bool {
	if r.ring().model != "" && !wk.serves(r.ring().model) {
		return false
	}
	k := r.ask
	if k == nil {
		return true
	}
	for _, taint := range k.require {
		if overlap([]string{taint}, wk.taints) == 0 {
			return false
		}
	}
	return (k.pin == nil || k.pin == wk && int(k.rank) < len(wk.ranks)) && (k.allow == nil || overlap([]string{wk.name}, k.allow) > 0)
}

// checkRoom goes back from the last decision of the step to the first: each found room.
func (w *world) checkRoom(out []HandOut) {
	type spot struct {
		w  *worker
		rk int
	}
	undone := map[spot]rank{}
	for i := len(out) - 1; i >= 0; i-- {
		r := w.arb.requests[out[i].Claim.ID]
		p := spot{r.booking.worker, r.booking.rank}
		after, seen := undone[p]
		if !seen {
			after = p.w.ranks[p.rk]
		}
		before := rank{used: after.used - 1, prefill: after.prefill - r.Cost()}
		undone[p] = before
		if full(p.w, before, r.cls.Class) {
			w.fail("%d was handed to %s, rank %d, which was busy: %+v", r.Seq, p.w.name, p.rk, before)
		}
	}
}

func full(w *worker, rk rank, c *policy.Class) bool {
	return rk.used >= w.slots || c.PrefillBusyThreshold != nil && rk.prefill > *c.PrefillBusyThreshold ||
		c.PrefillBusyFrac != nil && w.maxBatched > 0 && float64(rk.prefill) > *c.PrefillBusyFrac*float64(w.maxBatched)
}

// first says whether x goes before y in their lane, by the words of the design.
func first(c *policy.Class, x, y *request) bool {
	switch {
	case x.Strict != y.Strict:
		return x.Strict > y.Strict
	case c.Order == policy.WSPT:
		if p, q := (1+x.Jump)/float64(x.Cost()), (1+y.Jump)/float64(y.Cost()); p != q {
			return p > q
		}
	case c.Order == policy.EDF && x.Deadline != y.Deadline && x.Deadline != 0 && y.Deadline != 0:
		return x.Deadline < y.Deadline
	case c.Order == policy.EDF && (x.Deadline == 0) != (y.Deadline == 0):
		return x.Deadline != 0
	case c.Order == policy.EDF && x.Arrival != y.Arrival && x.Deadline == 0:
		return x.Arrival < y.Arrival
	case c.Order == policy.FCFS:
		p, q := x.Arrival-int64(x.Jump*1e9), y.Arrival-int64(y.Jump*1e9)
		if p != q {
			return p < q
		}
	}
	return x.Seq < y.Seq
}

// place is where a request waits: nobody is overtaken there.
type place struct {
	class  *class
	target drr.Target
	tenant uint32
}

func placeOf(r *request) place {
	p := place{class: r.cls, target: r.Target()}
	if r.cls.Tenants {
		p.tenant = r.Tenant
	}
	return p
}

// loosened requests may have come into a lane in the middle of a step.
func loosened(r *request) bool { return r.ask != nil && r.ask.soft && r.ask.pin == nil }

// checkOrder: nobody is overtaken inside a lane.
func (w *world) checkOrder(out []HandOut) {
	for i := range out {
		r := w.arb.requests[out[i].Claim.ID]
		r.ring().sched.EachIn(r.cls.index, r.Target(), func(e *drr.Entry) bool {
			if o := w.arb.requests[e.Seq]; placeOf(o) == placeOf(r) && first(r.cls.Class, o, r) && !loosened(o) {
				w.fail("%d was handed out before %d, in the same lane", r.Seq, o.Seq)
			}
			return true
		})
		for j := range out[:i] {
			o := w.arb.requests[out[j].Claim.ID]
			if placeOf(o) == placeOf(r) && first(r.cls.Class, r, o) && !loosened(r) {
				w.fail("%d was handed out before %d, in the same lane", o.Seq, r.Seq)
			}
		}
	}
}

// checkNobodyWaits: there are guards left, so no lane's head may be able to run.
func (w *world) checkNobodyWaits(ev Event) {
	for _, in := range w.arb.order {
		heads := map[place]*request{}
		for _, c := range in.classes {
			in.sched.Each(c.index, func(e *drr.Entry) bool {
				r := w.arb.requests[e.Seq]
				if h := heads[placeOf(r)]; h == nil || first(c.Class, r, h) {
					heads[placeOf(r)] = r
				}
				return true
			})
		}
		for _, r := range heads {
			if w.couldRun(r) {
				w.fail("after %#v: %d could run and waits", ev, r.Seq)
			}
		}
		for _, r := range in.parked {
			if w.couldRun(r) {
				w.fail("%d is parked and could run", r.Seq)
			}
		}
	}
}

// couldRun is the rule for the head of a lane: a worker that may serve it has
// room, and not too many of those that may serve it are busy.
func (w *world) couldRun(r *request) bool {
	eligible, busy := 0, 0
	for _, wk := range w.arb.fleet.byName {
		if !wk.live || wk.draining || !wk.healthy || wk.overloaded || !mayServe(r, wk) {
			continue
		}
		eligible++
		room := false
		for i, rk := range wk.ranks {
			asked := r.ask == nil || r.ask.rank < 0 || int(r.ask.rank) == i
			room = room || asked && !full(wk, rk, r.cls.Class)
		}
		if !room || wk.holdUntil > w.arb.now {
			busy++
		}
	}
	if ratio := r.cls.BusyWorkerRatio; ratio != nil && r.Target() == drr.Shared {
		return eligible > 0 && float64(busy) < *ratio*float64(eligible)
	}
	return busy < eligible
}

// checkEnd: the world has been calm for long.
func (w *world) checkEnd() {
	for id := uint64(1); id <= w.store.last; id++ {
		f := w.store.fate[id]
		_, asked := w.store.req[id]
		if (f.finished != nil) == (f.ended != "") || asked {
			st := w.arb.Requests(w.clock(), []uint64{id})
			w.fail("request %d: still in REQ %t, finished %v, ended %q; the arbiter says %+v", id, asked, f.finished, f.ended, st)
		}
	}
	left := 0
	for i := range w.store.done {
		if !w.store.purged[uint64(i+1)] && w.store.done[i].Done.ID <= w.arb.highest { // else the next request tells
			left++
		}
	}
	if n := len(w.store.claims) + len(w.store.verdict) + left + len(w.asked); n > 0 {
		w.fail("left in the store: %d claims, %d verdicts, %d in DONE; %d cancels without an answer",
			len(w.store.claims), len(w.store.verdict), left, len(w.asked))
	}
	if err := w.arb.leftover(); err != nil {
		w.fail("%v", err)
	}
}
