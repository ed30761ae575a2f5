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
	if a.found != nil {
		a.found.done(ev)
		return
	}
	current := a.settleBooking(d)
	r := a.requests[d.ID]
	switch {
	case r == nil:
		a.emit(Notice{Kind: NoticeLateDone, ID: d.ID, Worker: d.Worker})
	case r.state == ending || r.state == over || r.state == sentenced:
		a.emit(Notice{Kind: NoticeLateDone, Model: r.ring().model, Class: r.cls.Name, ID: d.ID, Worker: d.Worker})
	case d.Status == wire.StatusReturned || d.Status == wire.StatusCancelled:
		// Nobody told it to stop: a decision would have made the state another one.
		a.returned(r, ev, current)
	case d.Status == wire.StatusOK || current:
		a.finish(r, d, current)
	default: // the failure of an attempt that has been superseded
		a.emit(Notice{Kind: NoticeLateDone, Model: r.ring().model, Class: r.cls.Name, ID: d.ID, Worker: d.Worker})
	}
}

// settleBooking frees the room of a finished attempt, and reports whether it is
// the present one of its request. The booking stays until the worker no longer
// lists the claim.
func (a *Arbiter) settleBooking(d *wire.Done) (current bool) {
	if w := a.fleet.byName[d.Worker]; w != nil {
		if b := w.bookings[execution{d.ID, d.Attempt}]; b != nil && (b.claim == 0 || b.claim == d.Claim) {
			b.settled, b.absent = true, 0
			a.release(b)
		}
	}
	r := a.requests[d.ID]
	return r != nil && r.booking != nil && r.booking.attempt == d.Attempt && (r.booking.claim == 0 || r.booking.claim == d.Claim)
}

// returned puts a request back that its worker could not serve.
func (a *Arbiter) returned(r *request, ev Done, current bool) {
	if d := &ev.Done; d.RetryAfterMS > 0 {
		if w := a.fleet.byName[d.Worker]; w != nil && w.incarnation == d.Incarnation {
			a.hold(w, a.now+d.RetryAfterMS*int64(time.Millisecond))
		}
	}
	if !current {
		a.emit(ReleaseDone{Seq: ev.Seq})
		return
	}
	k := r.rare()
	k.returned = append(k.returned, ev.Seq)
	if r.state == placing {
		r.booking.settled = true // goes back when its claim is known to be stored
		return
	}
	a.giveBack(r)
}

// giveBack ends an attempt that its worker did not want.
func (a *Arbiter) giveBack(r *request) {
	a.emit(Notice{Kind: NoticeReturned, Model: r.ring().model, Class: r.cls.Name, ID: r.Seq, Worker: r.booking.worker.name})
	a.leaveRunning(r)
	a.putBack(r)
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
	if r.state == judged {
		a.acquit(r)
	}
	a.leaveLane(r)
	if d.Status == wire.StatusOK {
		r.cls.completed++
	} else {
		r.cls.failed++
	}
	a.emit(a.finished(r, d, claims))
	if r.state == placing {
		r.state, b.won = over, current // until its claim is known to be stored
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

// leftovers are the claims of earlier attempts that are still in WORK.
func (r *request) leftovers() []uint64 {
	if r.ask == nil {
		return nil
	}
	return r.ask.older
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
	switch {
	case b.settled:
		a.giveBack(r)
	case b.orphaned:
		a.lostAttempt(r)
	case b.cancels != nil:
		a.judgeCancel(r, b.cancels)
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
	if r.ask == nil {
		return
	}
	for _, seq := range r.ask.older {
		a.emit(DropClaim{Seq: seq})
	}
	for _, seq := range r.ask.returned {
		a.emit(ReleaseDone{Seq: seq})
	}
	r.ask.older, r.ask.returned = nil, nil
}

func sortBookings(list []*booking) {
	slices.SortFunc(list, func(x, y *booking) int {
		return cmp.Or(cmp.Compare(x.id, y.id), cmp.Compare(x.attempt, y.attempt))
	})
}
