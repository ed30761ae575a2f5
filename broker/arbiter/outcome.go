package arbiter

import (
	"cmp"
	"slices"
	"time"

	"fairlead/wire"
)

// done takes in a message of DONE.
func (a *Arbiter) done(ev Done) {
	d := &ev.Done
	r := a.requests[d.ID]
	if r == nil && a.found != nil {
		a.found.done(ev)
		return
	}
	current := a.settleBooking(r, d)
	a.learn(r, d)
	switch {
	case r == nil && d.ID > a.highest:
		// Another broker may lead without this one knowing, or the request was over
		// and gone before this one led: which, tells the next request.
		a.unseen = append(a.unseen, ev)
	case r == nil || r.state == over:
		a.late(r, d)
		a.emit(ReleaseDone{Seq: ev.Seq})
	case r.state == sentenced || r.state == ending:
		a.late(r, d)
		r.keep(ev.Seq) // until the verdict has been carried out
	case !isOutcome(d):
		a.returned(r, ev, current)
	case d.Status == wire.StatusOK || current:
		a.finish(r, d, current)
	default: // the failure of an attempt that has been superseded
		a.late(r, d)
		a.outdated(r, ev)
	}
}

// releaseUnseen lets go of messages of DONE about requests that are not in REQ,
// which has been read up to an id.
func (a *Arbiter) releaseUnseen(id uint64) {
	a.unseen = slices.DeleteFunc(a.unseen, func(ev Done) bool {
		if ev.Done.ID < id {
			a.emit(ReleaseDone{Seq: ev.Seq})
		}
		return ev.Done.ID <= id
	})
}

// isOutcome reports whether an attempt's end may be its request's: not when it
// was given back, and not when a broker told the agent to stop.
func isOutcome(d *wire.Done) bool {
	return d.Status != wire.StatusReturned && d.Status != wire.StatusCancelled
}

// late counts an outcome that came after another one. r is nil when the request
// is not known any more.
func (a *Arbiter) late(r *request, d *wire.Done) {
	if !isOutcome(d) {
		return
	}
	n := Notice{Kind: NoticeLateDone, ID: d.ID, Worker: d.Worker}
	if r != nil {
		n.Model, n.Class = r.ring().model, r.cls.Name
	}
	a.emit(n)
}

// settleBooking frees the room of a finished attempt, and reports whether it is
// the present one of its request. The booking stays until the worker no longer
// lists the claim.
func (a *Arbiter) settleBooking(r *request, d *wire.Done) (current bool) {
	if w := a.fleet.byName[d.Worker]; w != nil {
		if b := w.bookings[execution{d.ID, d.Attempt}]; b != nil && (b.claim == 0 || b.claim == d.Claim) {
			b.settled, b.absent = true, 0
			a.release(b)
		}
	}
	if r == nil || r.booking == nil {
		return false
	}
	b := r.booking
	return b.attempt == d.Attempt && (b.claim == 0 || b.claim == d.Claim)
}

// keep remembers a message of DONE that is to be released later.
func (r *request) keep(seq uint64) {
	k := r.rare()
	k.returned = append(k.returned, seq)
}

// outdated deals with a message of DONE about an earlier attempt: its number must
// outlive the claim, which the agent removes, until a newer claim is stored. An
// attempt that this arbiter never handed out is a newer leader's: it stays.
func (a *Arbiter) outdated(r *request, ev Done) {
	if r.state == running && ev.Done.Attempt < r.attempt {
		a.emit(ReleaseDone{Seq: ev.Seq})
		return
	}
	r.keep(ev.Seq)
}

// returned puts a request back that its worker could not serve.
func (a *Arbiter) returned(r *request, ev Done, current bool) {
	a.pause(&ev.Done)
	switch {
	case !current:
		a.outdated(r, ev)
	case r.state == placing:
		r.booking.settled, r.booking.returned = true, ev.Seq // goes back when its claim is known to be stored
	case r.state == judged:
		r.keep(ev.Seq)
	default:
		r.keep(ev.Seq)
		a.giveBack(r)
	}
}

// leastPause keeps a worker that gives work back without saying for how long
// from getting it again before its next heartbeat.
const leastPause = 100 * time.Millisecond

// pause holds a worker that gave work back.
func (a *Arbiter) pause(d *wire.Done) {
	w := a.fleet.byName[d.Worker]
	if d.Status != wire.StatusReturned || w == nil || w.incarnation != d.Incarnation {
		return
	}
	ms := min(max(d.RetryAfterMS, leastPause.Milliseconds()), maxRetryAfter.Milliseconds())
	w.refusedTo = max(w.refusedTo, a.now+ms*int64(time.Millisecond))
	a.hold(w, max(w.holdUntil, w.refusedTo))
}

// giveBack ends an attempt that its worker did not want. One that had begun to
// answer does not run again behind the client's back.
func (a *Arbiter) giveBack(r *request) {
	if r.booking.first && r.retry != wire.RetryAlways {
		a.leaveRunning(r)
		a.judge(r, wire.WorkerLost, "its worker gave it back after it had begun to answer")
		return
	}
	a.emit(Notice{Kind: NoticeReturned, Model: r.ring().model, Class: r.cls.Name, ID: r.Seq, Worker: r.booking.worker.name})
	a.leaveRunning(r)
	a.putBack(r, r.booking)
}

// finish ends a request that has an outcome in DONE.
func (a *Arbiter) finish(r *request, d *wire.Done, current bool) {
	claims := r.leftovers()
	b := r.booking
	if b != nil && !current { // another attempt won
		b.settled = true
		if b.claim != 0 {
			claims = append(claims, b.claim)
			a.stop(b, overtaken)
		}
	}
	if b != nil && current && b.orphaned && b.claim != 0 {
		claims = append(claims, b.claim) // its agent is gone and will not remove it
	}
	if r.state == judged {
		a.acquit(r)
	}
	a.leaveLane(r)
	corrected := a.trueUp(r, d.Usage)
	switch {
	case a.found != nil: // counted by the leader whose clients were told
	case d.Status == wire.StatusOK:
		r.cls.completed++
	default:
		r.cls.failed++
	}
	f := a.finished(r, d, claims)
	f.TrueUp = corrected
	a.emit(f)
	if r.state == placing { // stays until its claim is known to be stored
		a.answer(b.cancels, r.Seq, wire.CancelDone)
		r.state, b.won, b.cancels = over, current, nil
		return
	}
	a.leaveRunning(r)
	a.forget(r)
}

const overtaken = "another attempt of the request has finished"

func (a *Arbiter) finished(r *request, d *wire.Done, claims []uint64) Finish {
	f := Finish{ID: r.Seq, Claims: claims, Model: r.ring().model, Class: r.cls.Name, Done: *d, Sojourn: r.wait(a.now)}
	if d.FirstMS > 0 {
		f.WaitTTFT = max(0, f.Sojourn-time.Duration(d.TotalMS-d.FirstMS)*time.Millisecond)
	}
	return f
}

// leftovers takes over the claims of earlier attempts that are still in WORK.
func (r *request) leftovers() []uint64 {
	if r.ask == nil {
		return nil
	}
	claims := r.ask.older
	r.ask.older = nil
	return claims
}

// handedOut learns that a claim is stored.
func (a *Arbiter) handedOut(ev HandedOut) {
	a.free++
	r := a.requests[ev.ID]
	if r == nil || r.booking == nil || r.attempt != ev.Attempt {
		a.emit(DropClaim{Seq: ev.Seq})
		return
	}
	b := r.booking
	b.claim = ev.Seq
	a.dropOlder(r)
	if r.state == over {
		a.wasOver(r)
		return
	}
	r.state = running
	if b.settled {
		r.keep(b.returned)
		if b.orphaned {
			a.emit(DropClaim{Seq: b.claim})
		}
	}
	switch {
	case b.cancels != nil:
		a.judgeCancel(r, b.cancels)
	case b.settled:
		a.giveBack(r)
	case b.orphaned:
		a.lostAttempt(r)
	}
}

// wasOver ends a request that finished before its claim was known to be stored.
// The winner's agent removes its own claim, unless it is gone.
func (a *Arbiter) wasOver(r *request) {
	b := r.booking
	if !b.won || b.orphaned {
		a.emit(DropClaim{Seq: b.claim})
		a.stop(b, overtaken)
	}
	a.leaveRunning(r)
	a.forget(r)
}

// dropOlder deletes what a newer claim has made superfluous.
func (a *Arbiter) dropOlder(r *request) {
	for _, seq := range r.leftovers() {
		a.emit(DropClaim{Seq: seq})
	}
	a.releaseKept(r)
}

// releaseKept lets go of the messages of DONE that were kept for a request.
func (a *Arbiter) releaseKept(r *request) {
	if r.ask == nil {
		return
	}
	for _, seq := range r.ask.returned {
		a.emit(ReleaseDone{Seq: seq})
	}
	r.ask.returned = nil
}

func sortBookings(list []*booking) {
	slices.SortFunc(list, func(x, y *booking) int {
		return cmp.Or(cmp.Compare(x.id, y.id), cmp.Compare(x.attempt, y.attempt))
	})
}
