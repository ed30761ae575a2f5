package arbiter

import (
	"fmt"
	"slices"
	"strings"

	"fairlead/wire"
)

// loseSilent ends the workers that were silent for too long.
func (a *Arbiter) loseSilent() {
	a.fleet.nextLoss = 0
	var lost []*worker
	for _, w := range a.fleet.byName {
		if !w.live && len(w.bookings) == 0 || w.lost != 0 {
			continue
		}
		if at := w.lostAt(a.cfg.LostAfter); due(at, a.now) {
			lost = append(lost, w)
		} else {
			a.fleet.nextLoss = earlier(a.fleet.nextLoss, at)
		}
	}
	slices.SortFunc(lost, func(x, y *worker) int { return strings.Compare(x.name, y.name) })
	for _, w := range lost {
		a.lose(w)
	}
	if len(lost) > 0 {
		a.fleet.countModels()
		a.fleetChanged()
	}
}

func (a *Arbiter) lose(w *worker) {
	w.lost = a.now
	if w.away == 0 {
		w.away = a.now
	}
	if w.live {
		a.fleet.leave(w)
	}
	a.emit(Notice{Kind: w.farewell(), Worker: w.name})
	a.loseClaims(w)
	a.fleet.tidy(w)
}

// farewell tells a worker that left from one that died: the last word of the
// first was that it drains, and it had nothing left to do.
func (w *worker) farewell() NoticeKind {
	if w.draining && w.used() == 0 {
		return NoticeWorkerLeft
	}
	return NoticeWorkerLost
}

// loseClaims takes back what the present incarnation of a worker has. Nothing is
// done with a claim before DONE has been read to its end: the worker may have
// finished it with its last breath.
func (a *Arbiter) loseClaims(w *worker) {
	var lost []*booking
	for _, b := range w.bookings {
		a.release(b)
		lost = append(lost, b)
	}
	clear(w.bookings)
	a.syncThenOrphan(lost)
}

// syncThenOrphan has DONE read to its end before anything is decided.
func (a *Arbiter) syncThenOrphan(lost []*booking) {
	if len(lost) == 0 {
		return
	}
	sortBookings(lost)
	a.token++
	a.losses[a.token] = lost
	a.emit(SyncDone{Token: a.token})
}

func (a *Arbiter) doneSynced(token uint64) {
	lost := a.losses[token]
	delete(a.losses, token)
	a.orphan(lost)
}

// orphan decides about attempts whose worker is gone.
func (a *Arbiter) orphan(lost []*booking) {
	for _, b := range lost {
		r := a.requests[b.id]
		switch {
		case b.claim != 0 && (b.settled || r == nil || r.booking != b):
			a.emit(DropClaim{Seq: b.claim})
		case r.state == running:
			a.lostAttempt(r)
		default:
			b.orphaned = true // decided when its claim is known to be stored
		}
	}
}

// lostAttempt decides whether a request runs again whose worker was lost.
func (a *Arbiter) lostAttempt(r *request) {
	b, k := r.booking, r.rare()
	if b.started {
		r.lost++
	} else {
		k.untaken++
	}
	a.leaveRunning(r)
	r.booking = nil
	k.older = append(k.older, b.claim)
	most := r.ring().profile.MaxAttempts
	switch {
	case b.first && r.retry != wire.RetryAlways:
		a.judge(r, wire.WorkerLost, "its worker was lost after it had begun to answer")
	case r.retry == wire.RetryNever:
		a.judge(r, wire.WorkerLost, "its worker was lost, and the request asks not to be retried")
	case int(r.lost) >= most, k.untaken >= untaken*most:
		a.giveUp(r, b)
	default:
		a.emit(Notice{Kind: NoticeRequeued, Model: r.ring().model, Class: r.cls.Name, ID: r.Seq})
		a.putBack(r, b)
	}
}

// untaken bounds the attempts that were lost before their worker is known to have
// taken them, as a multiple of those that count: a request may kill its worker
// faster than that can tell.
const untaken = 10

func (a *Arbiter) giveUp(r *request, last *booking) {
	a.refuse(r, wire.Verdict{
		Reason: wire.AttemptsExhausted, Dead: true, Worker: last.worker.name,
		Detail: fmt.Sprintf("its worker was lost in %d attempts, %d of them known to have started; %d are allowed",
			int(r.lost)+r.ask.untaken, r.lost, r.ring().profile.MaxAttempts),
	})
}

// leaveRunning ends the count of a request as running.
func (a *Arbiter) leaveRunning(r *request) {
	if r.handedOut() {
		r.cls.running--
	}
}
