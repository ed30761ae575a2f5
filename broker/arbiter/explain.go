package arbiter

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"fairlead/drr"
	"fairlead/policy"
	"fairlead/wire"
)

// Explain says how a request in the system is scheduled, and why it waits. It
// changes nothing, and visits all that waits in the same lane: it is for people.
func (a *Arbiter) Explain(id uint64) wire.Explanation {
	r := a.requests[id]
	state := a.Requests(time.Unix(0, a.now), []uint64{id})[0].State
	if r == nil {
		why := "it is not known: it has ended, or never was"
		if state == wire.StateQueued {
			why = "the leader has not read it yet"
		}
		return wire.Explanation{ID: id, State: state, Why: why}
	}
	x := a.describeRequest(r)
	x.ID, x.State, x.Why = id, state, a.whyNow(r, x)
	return x
}

// ExplainNew says what a request would meet that nobody has asked. It changes
// nothing, like Explain.
func (a *Arbiter) ExplainNew(q wire.Request) wire.Explanation {
	return a.explainNew(q, time.Unix(0, a.now))
}

func (a *Arbiter) explainNew(q wire.Request, at time.Time) wire.Explanation {
	r := a.imagine(q, at)
	x := a.describeRequest(r)
	known := r.ring().profile.Resolve(q.Class, r.Uncached()).Known
	x.Unknown, x.Tenant = !known, q.Tenant
	x.Prospect, x.Reason, x.Why = a.prospect(r, x, known)
	return x
}

// imagine makes the request that intake would make, of which nobody else knows.
func (a *Arbiter) imagine(q wire.Request, at time.Time) *request {
	r := snapshot(a.highest+1, at, &q)
	r.Tenant = math.MaxUint32 // nobody's
	if n, ok := a.tenants.numbers[q.Tenant]; ok {
		r.Tenant = n
	}
	if q.Worker != "" {
		k := r.rare()
		k.rank, k.soft = q.Rank, q.Pin == wire.PinPrefer
		if k.pin = a.fleet.byName[q.Worker]; k.pin == nil {
			k.pin = &worker{name: q.Worker, index: a.fleet.highest, seat: -1}
		}
	}
	model := a.modelOf(q.Model)
	in := a.rings[model]
	if in == nil {
		in = &ring{model: model}
		in.adopt(a.cfg.Policy.Profile(model), a.tenants)
		a.countServing(in)
	}
	r.cls = in.resolve(q.Class, r.Uncached())
	if r.ask != nil && r.ask.soft && (a.impossiblePin(r) != "" || due(a.givenUp(r), a.now)) {
		r.ask.pin, r.ask.rank = nil, wire.AnyRank
	}
	return r
}

// givenUp is when an imagined or a waiting request is given up unless a worker
// comes for it; 0 when one is there.
func (a *Arbiter) givenUp(r *request) int64 {
	if r.state != parked && a.fit(r) == outside {
		return a.now + int64(r.cls.NoWorkerGrace)
	}
	return a.helplessUntil(r)
}

// describeRequest is what an explanation says without regard to the state.
func (a *Arbiter) describeRequest(r *request) wire.Explanation {
	c, in := r.cls, r.ring()
	x := wire.Explanation{
		Model: in.model, Class: c.Name, Input: r.Raw, Cached: r.Cached, Cost: r.Cost(), Key: keyText(c.Class, &r.Entry, a.now),
		Lane: laneText(r), Quantum: c.Quantum, Deficit: in.sched.Deficit(c.index), Limits: c.limits(), Workers: a.fits(r),
	}
	if int64(r.Tenant) < int64(len(a.tenants.known)) {
		x.Tenant = a.tenants.name(r.Tenant)
	}
	if r.state == queued && a.fit(r) == inLane {
		x.Position = 1
		in.sched.EachIn(c.index, r.target(), func(e *drr.Entry) bool {
			if (!c.Tenants || e.Tenant == r.Tenant) && before(c.Class, e, &r.Entry) {
				x.Position++
				x.Ahead += e.Uncached()
			}
			return true
		})
	}
	return x
}

func laneText(r *request) string {
	switch {
	case r.ask == nil || r.ask.pin == nil:
		return "shared"
	case r.ask.rank < 0:
		return r.ask.pin.name
	}
	return fmt.Sprintf("%s, rank %d", r.ask.pin.name, r.ask.rank)
}

// limits lists the caps of a class with what they allow now.
func (c *class) limits() []wire.LimitStatus {
	n := c.waiting()
	current := [...]int64{int64(n.Requests), n.Raw, n.Cached, n.Uncached}
	var list []wire.LimitStatus
	for i, limit := range c.caps() {
		if limit != nil {
			allowed := saturate(*limit, int64(max(1, c.ring.serving)))
			list = append(list, wire.LimitStatus{Limit: limitNames[i], PerWorker: *limit, Allowed: allowed, Current: current[i]})
		}
	}
	return list
}

// prospect decides for an imagined request as admit and dispatch would.
func (a *Arbiter) prospect(r *request, x wire.Explanation, known bool) (wire.Prospect, wire.Reason, string) {
	in, zero := r.ring(), r.cls.zeroLimit()
	full := r.cls.full(r.cls.waiting())
	_, late := a.tooLate(in, r)
	next := x.Position == 1 && a.free > a.reserved() && a.open(in, r.target(), r)
	switch impossible := a.impossiblePin(r); {
	case a.found != nil:
		return wire.ProspectWaits, "", recovering
	case a.crowded(in.model):
		reason, detail := a.crowdedOut(in.model)
		return wire.ProspectRefused, reason, detail
	case in.model == "" && len(a.fleet.models) > 1:
		return wire.ProspectRefused, wire.InvalidRequest, a.fleet.ambiguous()
	case !known && in.profile.UnknownClass == policy.UnknownReject:
		return wire.ProspectRefused, wire.InvalidRequest, "its class is unknown; want one of " + in.names()
	case due(r.Deadline, a.now):
		return wire.ProspectRefused, wire.DeadlineExceeded, "its time to live is over"
	case full != "" && !a.wouldMakeRoom(r):
		return wire.ProspectRefused, wire.QueueFull, "class " + r.cls.Name + " " + full
	case impossible != "":
		return wire.ProspectRefused, wire.InvalidRequest, impossible
	case due(a.givenUp(r), a.now):
		reason, detail := a.helpless(r)
		return wire.ProspectRefused, reason, detail
	case late && x.Position == 1:
		return wire.ProspectRefused, wire.Shed, "its prompt alone takes longer than its time to live"
	case next:
		return wire.ProspectRuns, "", "it is next, and a worker has room"
	case r.nowait || zero != "":
		return wire.ProspectRefused, wire.QueueFull, "it is not to wait, and would: " + a.whyWaiting(r, x)
	}
	return wire.ProspectWaits, "", a.whyWaiting(r, x)
}

const recovering = "the leader still reads what its predecessor left"

func (a *Arbiter) impossiblePin(r *request) string {
	if r.ask == nil || r.ask.pin == nil || !r.ask.pin.takes() {
		return ""
	}
	return a.impossible(r.ring(), r)
}

// wouldMakeRoom asks makeRoom's question.
func (a *Arbiter) wouldMakeRoom(r *request) bool {
	yield := a.roomFor(r)
	for _, v := range yield {
		a.mayYield(v)
	}
	return yield != nil
}

// whyNow says in a sentence why a request is where it is.
func (a *Arbiter) whyNow(r *request, x wire.Explanation) string {
	switch r.state {
	case placing, running, over:
		return fmt.Sprintf("it was handed out to %s as attempt %d", r.booking.worker.name, r.attempt)
	case judged, sentenced:
		return "it is being ended: " + string(a.verdicts[r.Seq].Reason)
	case ending:
		return "it has been ended, and is being told"
	case queued, parked, gone:
	}
	return a.whyWaiting(r, x)
}

func (a *Arbiter) whyWaiting(r *request, x wire.Explanation) string {
	in := r.ring()
	grace := a.givenUp(r)
	left := time.Duration(max(0, grace-a.now)).Round(time.Millisecond)
	switch {
	case a.found != nil:
		return recovering
	case r.state == parked || a.fit(r) == outside:
		return "no worker may serve it; it is given up unless one comes within " + left.String()
	case x.Position > 1:
		return fmt.Sprintf("requests before it in its lane: %d", x.Position-1)
	case grace != 0:
		return "no worker takes work for it; it is given up unless one does within " + left.String()
	case a.open(in, r.target(), r):
		return "it is next in its lane, and it is the turn of another class, or decisions are still being stored"
	case r.ask != nil && r.ask.pin != nil:
		return "its worker has no room: " + a.fitOf(r.ask.pin, r).Why
	}
	eligible, busy := a.countBusy(in, r)
	switch ratio := r.cls.BusyWorkerRatio; {
	case eligible == 0:
		return "every worker that may serve it is overloaded"
	case busy < eligible && ratio != nil:
		return fmt.Sprintf("%d of %d eligible workers are busy, and busy_worker_ratio is %g", busy, eligible, *ratio)
	}
	return fmt.Sprintf("every eligible worker is busy, %d of them", eligible)
}

// fits lists the workers that serve the model, and a pinned one in any case.
func (a *Arbiter) fits(r *request) []wire.WorkerFit {
	var list []wire.WorkerFit
	if r.ask != nil && r.ask.pin != nil {
		return append(list, a.fitOf(r.ask.pin, r))
	}
	for _, w := range a.fleet.live {
		if r.ring().model == "" || w.serves(r.ring().model) {
			list = append(list, a.fitOf(w, r))
		}
	}
	slices.SortFunc(list, func(x, y wire.WorkerFit) int { return strings.Compare(x.Worker, y.Worker) })
	return list
}
