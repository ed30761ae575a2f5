package arbiter

import (
	"time"

	"fairlead/drr"
	"fairlead/wire"
)

// state is where a request is; doc.go draws the transitions.
type state uint8

const (
	queued    state = iota // in its lane
	parked                 // queued, but outside its lane: no worker can serve it now
	placing                // decided; its claim is being stored
	running                // claimed
	over                   // finished while its claim was being stored
	judged                 // decided by the broker; waits for a guard to store its verdict
	sentenced              // the verdict is being stored
	ending                 // the verdict is stored; being told
	gone                   // not in the system any more
)

// request is what the broker keeps of a message in REQ: some 250 bytes with its
// place in lane and map, so that a million may wait.
type request struct {
	drr.Entry
	cls     *class
	ask     *ask     // what few requests carry; nil for the rest
	booking *booking // of its present attempt; nil while queued
	attempt uint32   // highest ever handed out, 0 none
	lost    uint32   // attempts that ended with their worker
	maxOut  uint32
	state   state
	retry   wire.Retry
	nowait  bool // to be dispatched at once or refused
}

// ask holds what only some requests have.
type ask struct {
	pin      *worker // nil when any worker will do
	rank     int32
	soft     bool // the pin is a preference
	allow    []string
	require  []string
	prefer   []string
	since    int64    // when nobody could serve it first; 0 when somebody can
	older    []uint64 // claims to delete once the next one is stored
	returned []uint64 // DONE messages to release then
	untaken  int      // attempts lost before their worker is known to have taken them
}

// rare makes room for what only some requests have.
func (r *request) rare() *ask {
	if r.ask == nil {
		r.ask = &ask{rank: wire.AnyRank}
	}
	return r.ask
}

// target is the lane that the request belongs in.
func (r *request) target() drr.Target {
	if r.ask == nil || r.ask.pin == nil {
		return drr.Shared
	}
	return drr.Target{Worker: r.ask.pin.index, Rank: r.ask.rank}
}

func (r *request) ring() *ring { return r.cls.ring }

// waits reports whether the request is to be handed out, be it now or later.
func (r *request) waits() bool { return r.state == queued || r.state == parked }

// wait is the time since the request was asked.
func (r *request) wait(now int64) time.Duration { return time.Duration(max(0, now-r.Arrival)) }

// handedOut reports whether the request counts as running in its class.
func (r *request) handedOut() bool {
	return r.state == placing || r.state == running || r.state == over
}

// arrive takes in a message of REQ.
func (a *Arbiter) arrive(ev Arrived) {
	if ev.ID <= a.highest {
		return // an ordered consumer that starts over may repeat
	}
	a.highest = ev.ID
	if a.lowest == 0 {
		a.lowest = ev.ID
	}
	a.releaseUnseen(ev.ID)
	r := a.intake(ev)
	a.requests[ev.ID] = r
	past := a.found.take(ev.ID)
	switch {
	case past != nil && a.resume(r, past):
	case ev.Refusal != nil:
		a.judge(r, ev.Refusal.Reason, ev.Refusal.Detail)
	case ev.Request.Model != "" && r.ring().model == "":
		reason, detail := a.crowdedOut(ev.Request.Model)
		a.judge(r, reason, detail)
	default:
		a.admit(r, ev.Request.Class)
	}
}

// intake takes the snapshot that decides everything about the request from now on.
func (a *Arbiter) intake(ev Arrived) *request {
	q := &ev.Request
	r := snapshot(ev.ID, ev.At, q)
	r.Tenant = a.tenants.hold(q.Tenant)
	if q.Worker != "" {
		k := r.rare()
		k.pin, k.rank, k.soft = a.fleet.named(q.Worker), q.Rank, q.Pin == wire.PinPrefer
		k.pin.pinned++
		a.fleet.pins++
	}
	model := a.modelOf(q.Model)
	if a.crowded(model) {
		model = ""
	}
	in := a.ring(model)
	in.members++
	r.cls = in.resolve(q.Class, r.Uncached())
	return r
}

// snapshot is what a request brings itself.
func snapshot(id uint64, at time.Time, q *wire.Request) *request {
	r := &request{
		Entry: drr.Entry{
			Seq: id, Arrival: at.UnixNano(), Jump: q.Priority, Strict: q.Strict, Raw: q.Input, Cached: min(q.Cached, q.Input),
		},
		maxOut: q.MaxOutput, retry: q.Retry, nowait: q.NoQueue,
	}
	if q.TTL > 0 {
		r.Deadline = at.Add(min(q.TTL, wire.MaxTTL)).UnixNano()
	}
	if q.Allow != nil || q.Require != nil || q.Prefer != nil {
		k := r.rare()
		k.allow, k.require, k.prefer = q.Allow, q.Require, q.Prefer
	}
	return r
}

// modelOf decides the ring of a request: the model that it names, else the only
// one served. The ring "" keeps those that came before any worker was heard.
func (a *Arbiter) modelOf(named string) string {
	if served := a.fleet.models; named == "" && len(served) == 1 {
		return served[0].Name
	}
	return named
}

// enqueue lets a request wait, for the first time or again.
func (a *Arbiter) enqueue(r *request) {
	r.state = queued
	in := r.ring()
	if r.picky() {
		in.picky[r.Seq] = r
	}
	switch a.fit(r) {
	case nowhere:
		if r.ask.soft {
			a.loosen(r)
		} else {
			a.judge(r, wire.InvalidRequest, a.impossible(in, r))
		}
	case outside:
		a.park(r)
	case inLane:
		if r.ask != nil {
			r.ask.since = 0
		}
		in.sched.Enqueue(r.cls.index, r.target(), &r.Entry)
		in.dirty = true
		a.beginWait(r)
		a.watch(r)
	}
}

// beginWait does the book-keeping for a request that has come into its lane, or
// was parked.
func (a *Arbiter) beginWait(r *request) {
	a.hunger(r, 1)
	a.mayYield(r)
}

// endWait undoes beginWait.
func (a *Arbiter) endWait(r *request) { a.hunger(r, -1) }

// putBack returns a request whose attempt came to nothing to its lane, under its
// original key; its class gets back what it was charged for the attempt.
func (a *Arbiter) putBack(r *request, b *booking) {
	r.booking = nil
	if due(r.Deadline, a.now) {
		a.judge(r, wire.DeadlineExceeded, "its time to live ended before it could run again")
	} else {
		a.enqueue(r)
	}
	a.charge(r, b, -b.charged)
	if r.ring().model == "" {
		a.settleUnnamed()
	}
}

// leaveLane takes a queued request out of wherever it waits.
func (a *Arbiter) leaveLane(r *request) {
	delete(r.ring().picky, r.Seq)
	switch {
	case r.Queued():
		r.ring().sched.Remove(&r.Entry)
		r.ring().dirty = true
		a.endWait(r)
	case r.state == parked:
		a.unpark(r)
	}
}

// forget drops a request that is over.
func (a *Arbiter) forget(r *request) {
	r.state = gone
	delete(a.requests, r.Seq)
	a.expiry.tidy(a.requests)
	a.tenants.release(r.Tenant)
	a.unpin(r)
	a.leaveRing(r.ring())
}

func (a *Arbiter) leaveRing(in *ring) {
	in.members--
	a.tidyRing(in)
}

func (a *Arbiter) unpin(r *request) {
	if r.ask != nil && r.ask.pin != nil {
		w := r.ask.pin
		w.pinned--
		a.fleet.pins--
		r.ask.pin = nil
		a.fleet.tidy(w)
	}
}
