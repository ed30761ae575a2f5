package arbiter

import (
	"fairlead/drr"
	"fairlead/wire"
)

// dispatch hands out and judges as far as there are guards.
func (a *Arbiter) dispatch() {
	dry := a.handOutAll()
	if dry && a.refuseNowaits() {
		dry = a.handOutAll() // what was refused may have stood in the way
	}
	a.sendVerdicts(dry)
}

// handOutAll hands out until nothing is dispatchable, which it reports, or only
// the guards are left that verdicts have a right to.
func (a *Arbiter) handOutAll() (dry bool) {
	for a.free > a.reserved() {
		if !a.dispatchOne() {
			return true
		}
	}
	return false
}

// verdictShare is how many guards verdicts may occupy while there is work to hand
// out, and have a right to, so that neither starves the other.
func (a *Arbiter) verdictShare() int { return max(1, a.cfg.Guards/4) }

// reserved is how many guards are kept free for verdicts that wait.
func (a *Arbiter) reserved() int {
	waiting := len(a.verdicts) - a.storing
	return min(waiting, max(0, a.verdictShare()-a.storing))
}

// dispatchOne hands out one request; rings take turns, one dispatch each.
func (a *Arbiter) dispatchOne() bool {
	n := len(a.order)
	for i := range n {
		in := a.order[(a.turn+i)%n]
		if !in.dirty {
			continue
		}
		backlogged := in.backlogged()
		e := a.next(in)
		if e == nil {
			in.dirty = false
			continue
		}
		a.turn = (a.turn + i + 1) % n
		r := a.requests[e.Seq]
		w, rk := a.find(r)
		a.handOut(r, w, rk, backlogged)
		return true
	}
	return false
}

// backlogged reports whether every class of the ring has something queued: the
// time over which shares are compared with entitlements.
func (in *ring) backlogged() bool {
	for i := range in.classes {
		if !in.sched.Backlogged(i) {
			return false
		}
	}
	return true
}

// handOut decides: booking, charge and claim are one step.
func (a *Arbiter) handOut(r *request, w *worker, rk int, backlogged bool) {
	r.attempt++
	r.state = placing
	delete(r.ring().picky, r.Seq)
	r.booking = a.fleet.book(r, w, rk)
	a.free--
	cost, c, b := r.Cost(), r.cls, r.booking
	b.charged, b.shared = c.ring.sched.Charged(), backlogged
	c.largest = max(c.largest, b.charged)
	c.running++
	c.dispatched++
	c.tokens += cost
	if backlogged {
		c.shared += b.charged
	}
	c.drain.wake(r.Arrival, a.now)
	c.drain.add(cost, a.now)
	a.feed(r, b.charged)
	a.endWait(r)
	a.emit(HandOut{Worker: w.name, Incarnation: w.incarnation, Claim: a.claim(r, w, rk), Cost: b.charged, Wait: r.wait(a.now)})
}

func (a *Arbiter) claim(r *request, w *worker, rk int) wire.Claim {
	c := wire.Claim{
		ID: r.Seq, Attempt: r.attempt, Lost: r.lost, Epoch: a.cfg.Epoch, Class: r.cls.Name, Model: r.ring().model,
		Rank: wire.AnyRank, Input: r.Raw, Cached: r.Cached, Output: r.maxOut,
	}
	if len(w.ranks) > 1 {
		c.Rank = int32(rk)
	}
	if c.Model == "" && len(w.models) == 1 {
		c.Model = w.models[0]
	}
	if r.Deadline != 0 {
		c.RemainingMS = max(1, (r.Deadline-a.now)/1e6)
	}
	return c
}

// refuseNowaits refuses what was to be admitted at once or not at all, when
// nothing more is dispatchable. It reports whether there was anything to refuse.
func (a *Arbiter) refuseNowaits() bool {
	refused := false
	for _, r := range a.nowaits {
		if r.waits() {
			a.refuseNowait(r)
			refused = true
		}
	}
	clear(a.nowaits)
	a.nowaits = a.nowaits[:0]
	return refused
}

// gate tells the scheduler about the head of a lane. A request that any worker may
// serve speaks for all that wait in the shared lanes of its class.
func (a *Arbiter) gate(in *ring, t drr.Target, r *request) drr.Answer {
	if _, late := a.tooLate(in, r); late {
		a.hopeless = append(a.hopeless, r)
		return drr.Shut
	}
	switch {
	case a.open(in, t, r):
		return drr.Open
	case r.ask == nil && r.cls.BusyWorkerRatio == nil:
		return drr.AllShut
	}
	return drr.Shut
}

// open says whether the head of a lane can be dispatched now.
func (a *Arbiter) open(in *ring, t drr.Target, r *request) bool {
	if t.Worker >= 0 {
		w := r.ask.pin
		return w.takes() && !w.overloaded && a.freeRank(w, r) >= 0
	}
	return a.openShared(in, r)
}

// openShared: the lane is blocked while every eligible worker is busy, or with
// busy_worker_ratio a sufficient part of them. It is blocked too when nobody may
// serve it, which only happens when nobody serves anyone: others are parked.
func (a *Arbiter) openShared(in *ring, r *request) bool {
	if ratio := r.cls.BusyWorkerRatio; ratio != nil {
		eligible, busy := a.countBusy(in, r)
		return float64(busy) < *ratio*float64(eligible)
	}
	roomy := a.fleet.roomy
	for i := range roomy {
		at := (in.hint + i) % len(roomy)
		if w := roomy[at]; eligibleFor(w, in, r) && a.freeRank(w, r) >= 0 {
			in.hint = at
			return true
		}
	}
	return false
}

// countBusy looks at all workers that may serve a request.
func (a *Arbiter) countBusy(in *ring, r *request) (eligible, busy int) {
	for _, w := range a.fleet.live {
		if eligibleFor(w, in, r) {
			eligible++
			if a.freeRank(w, r) < 0 {
				busy++
			}
		}
	}
	return eligible, busy
}
