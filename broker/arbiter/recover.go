package arbiter

import (
	"cmp"
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
	cancels []Cancel   // asked for meanwhile
}

// finding is what is known of one request.
type finding struct {
	claims  []ClaimFound
	verdict *VerdictFound
	outcome *wire.Done // see better
	back    uint32     // highest attempt that was given back, 0 none
	lost    uint32     // attempts lost, as the newest report says
	highest uint32     // attempt in claims and DONE
	done    []uint64   // everything in DONE
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
	x.learn(ev.Claim.Attempt, ev.Claim.Lost)
}

func (f *findings) verdict(ev VerdictFound) { f.of(ev.Verdict.ID).verdict = &ev }

func (f *findings) done(ev Done) {
	d := &ev.Done
	x := f.of(d.ID)
	x.done = append(x.done, ev.Seq)
	x.learn(d.Attempt, d.Lost)
	switch {
	case !isOutcome(d):
		x.back = max(x.back, d.Attempt)
	case x.outcome == nil || better(d, x.outcome):
		x.outcome = d
	}
}

// learn takes in what a claim or a report says about attempts.
func (x *finding) learn(attempt, lost uint32) {
	if attempt >= x.highest {
		x.highest, x.lost = attempt, max(x.lost, lost)
	}
}

// better reports whether d counts rather than an outcome that was read before:
// the first result does, else the failure of the newest attempt.
func better(d, than *wire.Done) bool {
	if than.Status == wire.StatusOK {
		return false
	}
	return d.Status == wire.StatusOK || d.Attempt > than.Attempt
}

// ended reports whether the outcome counts: a result always does, a failure only
// when no later attempt was handed out.
func (x *finding) ended() bool {
	return x.outcome != nil && (x.outcome.Status == wire.StatusOK || x.outcome.Attempt >= x.highest)
}

// running reports whether the highest attempt has a claim and was not given back.
func (x *finding) running() bool {
	n := len(x.claims)
	return n > 0 && x.claims[n-1].Claim.Attempt == x.highest && x.back < x.highest
}

// resume puts a request where its predecessor left it; false when it is to be
// queued as if it were new. A verdict outranks everything, then an outcome; else
// the highest attempt is the present one.
func (a *Arbiter) resume(r *request, x *finding) bool {
	slices.SortFunc(x.claims, func(p, q ClaimFound) int {
		return cmp.Or(cmp.Compare(p.Claim.Attempt, q.Claim.Attempt), cmp.Compare(p.Seq, q.Seq))
	})
	r.attempt, r.lost = x.highest, x.lost
	a.rename(r, x)
	k := r.rare()
	k.returned = x.done
	for i := range x.claims {
		k.older = append(k.older, x.claims[i].Seq)
	}
	switch {
	case x.verdict != nil:
		a.end(r, End{Seq: x.verdict.Seq, Verdict: x.verdict.Verdict, Claims: r.leftovers()})
	case x.ended():
		a.finish(r, x.outcome, false)
	case x.running():
		a.resumeRunning(r, x.claims[len(x.claims)-1])
	default:
		return false
	}
	return true
}

// rename gives a request that named no model the one that it was handed out for.
func (a *Arbiter) rename(r *request, x *finding) {
	if n := len(x.claims); n > 0 && r.ring().model == "" && x.claims[n-1].Claim.Model != "" {
		a.join(r, a.ring(x.claims[n-1].Claim.Model))
	}
}

// resumeRunning goes on with an attempt that has a claim in WORK.
func (a *Arbiter) resumeRunning(r *request, last ClaimFound) {
	k := r.ask
	k.older = k.older[:len(k.older)-1]
	a.dropOlder(r)
	r.cls = r.ring().like(&policy.Class{Name: last.Claim.Class, Family: r.cls.Family}, r.Uncached())
	r.state = running
	r.cls.running++
	a.expiry.add(r)
	w := a.fleet.named(last.Worker)
	if last.Incarnation > w.incarnation {
		wasLive := w.live
		a.renew(w, last.Incarnation)
		a.awaitFirstBeat(w)
		if wasLive {
			a.fleet.countModels()
			a.fleetChanged()
		}
	}
	rk := int(min(max(0, last.Claim.Rank), mostRanks-1))
	if last.Incarnation < w.incarnation {
		r.booking = newBooking(r, w, rk)
		r.booking.freed = true
		a.found.orphans = append(a.found.orphans, r.booking)
	} else {
		if !w.live {
			w.fit(max(len(w.ranks), rk+1))
		}
		r.booking = a.fleet.book(r, w, min(rk, len(w.ranks)-1))
	}
	b := r.booking
	b.claim, b.started, b.incarnation = last.Seq, true, last.Incarnation
}

// awaitFirstBeat gives a worker that has not been heard the time to report.
func (a *Arbiter) awaitFirstBeat(w *worker) {
	w.interval = int64(time.Second)
	w.seen = a.started + int64(a.cfg.Reconnect)
	w.lost = 0
	a.fleet.nextLoss = earlier(a.fleet.nextLoss, w.lostAt(a.cfg.LostAfter))
}

// recovered ends recovery.
func (a *Arbiter) recovered(ev Recovered) {
	if a.found == nil {
		return
	}
	rest := a.found
	a.found = nil
	for _, id := range slices.Sorted(maps.Keys(rest.byID)) {
		a.clean(rest.byID[id])
	}
	a.saved = maps.Clone(ev.Saved)
	a.restore()
	a.settleUnnamed()
	if unnamed := a.rings[""]; unnamed == nil || unnamed.sched.Len() == 0 {
		a.saved = nil // nobody waits for a model to be heard of
	}
	a.syncThenOrphan(rest.orphans) // DONE may have grown since it was read
	for _, c := range rest.cancels {
		a.cancel(c)
	}
}

// restore gives rings the credit that they had, once they have a backlog.
func (a *Arbiter) restore() {
	for _, in := range a.order {
		if s, ok := a.saved[in.model]; ok && in.sched.Len() > 0 {
			in.restore(s)
			delete(a.saved, in.model)
		}
	}
}

// clean ends what is left of a request that is not in REQ any more.
func (a *Arbiter) clean(x *finding) {
	for i := range x.claims {
		a.emit(DropClaim{Seq: x.claims[i].Seq})
	}
	for _, seq := range x.done {
		a.emit(ReleaseDone{Seq: seq})
	}
	if x.verdict != nil {
		a.emit(End{Seq: x.verdict.Seq, Verdict: x.verdict.Verdict})
	}
}

// Saved is what survives a change of leader beside the streams: for each model
// the deficits and the cursor of its ring.
type Saved map[string]drr.State

// Save returns the present deficits and cursors.
func (a *Arbiter) Save() Saved {
	s := make(Saved, len(a.order))
	maps.Copy(s, a.saved)
	for _, in := range a.order {
		if in.sched.Len() > 0 {
			s[in.model] = in.sched.Snapshot()
		}
	}
	return s
}
