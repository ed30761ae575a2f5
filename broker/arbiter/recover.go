package arbiter

import (
	"maps"
	"slices"
	"time"

	"fairlead/drr"
	"fairlead/policy"
	"fairlead/wire"
)

// findings is what recovery read in WORK and DONE, until REQ tells what it is
// about: pending = REQ − WORK − DONE.
type findings struct {
	byID    map[uint64]*finding
	orphans []*booking // claims of incarnations that are known to be dead
}

// finding is what is known of one request.
type finding struct {
	claims   []ClaimFound
	verdict  *VerdictFound
	outcome  *Done  // the first that ends the request
	returned []Done // those that gave it back
}

func newFindings() *findings { return &findings{byID: map[uint64]*finding{}} }

func (f *findings) of(id uint64) *finding {
	x := f.byID[id]
	if x == nil {
		x = &finding{}
		f.byID[id] = x
	}
	return x
}

// take returns what is known of a request and forgets it; nil when nothing is,
// or when recovery is over.
func (f *findings) take(id uint64) *finding {
	if f == nil {
		return nil
	}
	x := f.byID[id]
	delete(f.byID, id)
	return x
}

func (f *findings) claim(ev ClaimFound) {
	x := f.of(ev.Claim.ID)
	x.claims = append(x.claims, ev)
}

func (f *findings) verdict(ev VerdictFound) { f.of(ev.Verdict.ID).verdict = &ev }

// done sorts a message of DONE. One that was told to stop is no outcome.
func (f *findings) done(ev Done) {
	x := f.of(ev.Done.ID)
	switch {
	case ev.Done.Status == wire.StatusReturned || ev.Done.Status == wire.StatusCancelled:
		x.returned = append(x.returned, ev)
	case x.outcome == nil || x.outcome.Done.Status != wire.StatusOK && ev.Done.Status == wire.StatusOK:
		x.outcome = &ev
	}
}

// resume puts a request where its predecessor left it; false when it is to be
// queued as if it were new. The highest claim is the present attempt; a verdict
// outranks everything, then an outcome.
func (a *Arbiter) resume(r *request, x *finding) bool {
	slices.SortFunc(x.claims, func(p, q ClaimFound) int { return int(p.Claim.Attempt) - int(q.Claim.Attempt) })
	seqs := make([]uint64, len(x.claims))
	for i := range x.claims {
		seqs[i] = x.claims[i].Seq
		r.attempt, r.lost = x.claims[i].Claim.Attempt, x.claims[i].Claim.Lost
	}
	for i := range x.returned {
		if d := &x.returned[i].Done; d.Attempt >= r.attempt {
			r.attempt, r.lost = d.Attempt, max(r.lost, d.Lost)
		}
	}
	switch {
	case x.verdict != nil:
		a.end(r, End{Seq: x.verdict.Seq, Verdict: x.verdict.Verdict, Claims: seqs})
		return true
	case x.outcome != nil && x.current():
		a.emit(a.finished(r, &x.outcome.Done, seqs))
		a.forget(r)
		return true
	case x.running():
		a.resumeRunning(r, x)
		return true
	}
	if len(x.claims)+len(x.returned) > 0 {
		k := r.rare()
		k.older = seqs
		for i := range x.returned {
			k.returned = append(k.returned, x.returned[i].Seq)
		}
	}
	return false
}

// current reports whether the outcome counts: a result always does, a failure
// only when no later attempt was handed out.
func (x *finding) current() bool {
	if x.outcome.Done.Status == wire.StatusOK || len(x.claims) == 0 {
		return true
	}
	return x.outcome.Done.Attempt >= x.claims[len(x.claims)-1].Claim.Attempt
}

// running reports whether the highest claim has not been given back.
func (x *finding) running() bool {
	if len(x.claims) == 0 {
		return false
	}
	last := &x.claims[len(x.claims)-1].Claim
	return !slices.ContainsFunc(x.returned, func(d Done) bool { return d.Done.Attempt >= last.Attempt })
}

func (a *Arbiter) resumeRunning(r *request, x *finding) {
	last := x.claims[len(x.claims)-1]
	for _, c := range x.claims[:len(x.claims)-1] {
		a.emit(DropClaim{Seq: c.Seq})
	}
	for _, d := range x.returned {
		a.emit(ReleaseDone{Seq: d.Seq})
	}
	r.cls = r.ring().like(&policy.Class{Name: last.Claim.Class, Family: r.cls.Family}, r.Uncached())
	r.state = running
	r.cls.running++
	a.expiry.add(r)
	w := a.fleet.named(last.Worker)
	if last.Incarnation > w.incarnation {
		a.renew(w, last.Incarnation)
		a.awaitFirstBeat(w)
	}
	w.fit(max(len(w.ranks), int(last.Claim.Rank)+1, 1))
	r.booking = a.book(r, w, int(max(0, last.Claim.Rank)))
	b := r.booking
	b.claim, b.started, b.incarnation = last.Seq, true, last.Incarnation
	if last.Incarnation < w.incarnation {
		a.release(b)
		delete(w.bookings, b.execution)
		a.found.orphans = append(a.found.orphans, b)
	}
}

// awaitFirstBeat gives a worker that has not been heard the time to report.
func (a *Arbiter) awaitFirstBeat(w *worker) {
	if w.live {
		return
	}
	w.interval = int64(time.Second)
	w.seen = a.started + int64(a.cfg.Reconnect)
	w.lost = 0
	a.fleet.nextLoss = earlier(a.fleet.nextLoss, w.lostAt(a.cfg.LostAfter))
}

// recovered ends recovery: whatever was found and is not in REQ belongs to
// requests that are over.
func (a *Arbiter) recovered(ev Recovered) {
	if a.found == nil {
		return
	}
	rest := a.found
	a.found = nil
	for _, id := range slices.Sorted(maps.Keys(rest.byID)) {
		x := rest.byID[id]
		for _, c := range x.claims {
			a.emit(DropClaim{Seq: c.Seq})
		}
		if x.verdict != nil {
			a.emit(End{Seq: x.verdict.Seq, Verdict: x.verdict.Verdict})
		}
	}
	sortBookings(rest.orphans)
	a.orphan(rest.orphans)
	a.settleUnnamed()
	for _, in := range a.order {
		if s, ok := ev.Saved[in.model]; ok {
			in.sched.Restore(s)
		}
	}
}

// Saved is what survives a change of leader beside the streams: for each model
// the deficits and the cursor of its ring.
type Saved map[string]drr.State

// Save returns the present deficits and cursors.
func (a *Arbiter) Save() Saved {
	s := make(Saved, len(a.order))
	for _, in := range a.order {
		if in.sched.Len() > 0 {
			s[in.model] = in.sched.Snapshot()
		}
	}
	return s
}
