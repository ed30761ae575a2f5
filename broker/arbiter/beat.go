package arbiter

import (
	"math"
	"slices"
	"time"

	"fairlead/wire"
)

// Bounds of a heartbeat's own interval: what lies outside is taken as the bound.
const (
	minInterval = 50 * time.Millisecond
	maxInterval = time.Minute
)

// beat takes in a heartbeat.
func (a *Arbiter) beat(h *wire.Heartbeat) {
	if !wire.ValidToken(h.Worker) || h.Incarnation == 0 {
		return
	}
	w := a.fleet.named(h.Worker)
	switch {
	case h.Incarnation < w.incarnation:
		a.supersede(w, h.Incarnation)
		return
	case h.Incarnation > w.incarnation:
		a.renew(w, h.Incarnation)
	case h.Seq <= w.beats:
		return // overtaken on its way
	}
	w.beats, w.seen = h.Seq, a.now
	if a.found != nil { // it may have been heard before the take-over, and have to find another server
		w.seen = max(w.seen, a.started+int64(a.cfg.Reconnect))
	}
	w.interval = int64(min(max(time.Duration(h.IntervalMS)*time.Millisecond, minInterval), maxInterval))
	a.fleet.nextLoss = earlier(a.fleet.nextLoss, w.lostAt(a.cfg.LostAfter))
	changed := a.describe(w, h)
	if !w.live {
		a.fleet.join(w)
		a.emit(Notice{Kind: NoticeWorkerJoined, Worker: w.name})
		changed = true
	}
	a.reconcile(w, h)
	if changed {
		a.fleet.countModels()
		a.fleetChanged()
	}
}

// supersede tells an agent that a newer start of the same worker runs.
func (a *Arbiter) supersede(w *worker, incarnation uint64) {
	a.emit(Notice{Kind: NoticeSuperseded, Worker: w.name})
	a.command(w.name, incarnation, wire.Command{Kind: wire.CommandStop, Reason: "another agent with this worker id has started since"})
}

// renew begins a newer incarnation: the old one's claims are lost.
func (a *Arbiter) renew(w *worker, incarnation uint64) {
	if w.live {
		a.fleet.leave(w)
		a.emit(Notice{Kind: NoticeWorkerLost, Worker: w.name})
	}
	if w.incarnation != 0 {
		a.loseClaims(w)
	}
	w.incarnation, w.beats, w.holdUntil, w.refusedTo, w.work = incarnation, 0, 0, 0, 0
	w.ranks, w.strangers = nil, nil
}

// describe takes over what a heartbeat says about the worker itself, and reports
// whether anything changed that decides who may be served.
func (a *Arbiter) describe(w *worker, h *wire.Heartbeat) bool {
	ranks, slots := int(min(max(1, h.Ranks), mostRanks)), int(min(max(1, h.Slots), 1<<20))
	changed := w.draining != h.Draining || w.healthy != h.Healthy || w.slots != slots || len(w.ranks) != ranks ||
		w.maxBatched != int64(h.MaxBatched) || !slices.Equal(w.models, h.Models) || !slices.Equal(w.taints, h.Taints)
	w.draining, w.healthy, w.slots, w.maxBatched = h.Draining, h.Healthy, slots, int64(h.MaxBatched)
	w.models, w.taints = h.Models, h.Taints
	was := w.speed()
	w.declared, w.told = speedOf(h.Speed), speedOf(h.Learned)
	if w.speed() != was {
		a.speedChanged(w)
	}
	switch {
	case !w.draining && w.healthy:
		w.away = 0
	case w.away == 0:
		w.away = a.now
	}
	w.fit(ranks)
	a.fleet.noteRoom(w)
	a.judgeLoad(w, h)
	a.hold(w, max(w.refusedTo, a.now+int64(h.HoldMS)*int64(time.Millisecond)))
	return changed
}

// mostRanks is how many data-parallel ranks a worker may have: each costs room.
const mostRanks = 1 << 12

// speedOf is a speed that a heartbeat tells, 0 for none.
func speedOf(told float64) float64 {
	if told > 0 && !math.IsInf(told, 0) {
		return told
	}
	return 0
}

// fit makes the worker have n ranks; bookings on a rank that is gone move to the
// last one.
func (w *worker) fit(n int) {
	for len(w.ranks) < n {
		w.ranks = append(w.ranks, rank{})
	}
	if len(w.ranks) == n {
		return
	}
	for len(w.ranks) > n {
		gone := w.ranks[len(w.ranks)-1]
		w.ranks = w.ranks[:len(w.ranks)-1]
		w.ranks[len(w.ranks)-1].used += gone.used
		w.ranks[len(w.ranks)-1].prefill += gone.prefill
	}
	for _, b := range w.bookings {
		b.rank = min(b.rank, n-1)
	}
}

// hold keeps work from a worker whose engine said busy; an instant that is not
// in the future ends it.
func (a *Arbiter) hold(w *worker, until int64) {
	held := w.holdUntil != 0
	if until > a.now {
		w.holdUntil = until
		a.fleet.nextHold = earlier(a.fleet.nextHold, until)
		return
	}
	w.holdUntil = 0
	if held {
		a.recheck(w)
	}
}

// releaseHolds tries workers again whose hold is over.
func (a *Arbiter) releaseHolds() {
	a.fleet.nextHold = 0
	for _, w := range a.fleet.live {
		if due(w.holdUntil, a.now) {
			a.hold(w, 0)
		}
		a.fleet.nextHold = earlier(a.fleet.nextHold, w.holdUntil)
	}
}

// reconcile compares the claims that a worker says it has with those that we
// think it has.
func (a *Arbiter) reconcile(w *worker, h *wire.Heartbeat) {
	before := w.strangers
	w.strangers = nil
	for i := range h.InFlight {
		f := &h.InFlight[i]
		b := w.bookings[execution{f.ID, f.Attempt}]
		if b == nil || b.claim != 0 && b.claim != f.Claim {
			a.stranger(w, f, before[f.Claim]+1)
			continue
		}
		b.heard, b.absent, b.started = w.beats, 0, true
		if f.First && !b.first {
			a.firstToken(b)
		}
		if f.Prefilled {
			a.endPrefill(b)
		}
		if b.settled && !b.freed { // decided without it; the first command may be lost
			a.stop(b, "the request is over")
		}
	}
	a.unheard(w)
}

// patience is how many heartbeats in a row something must look wrong before it
// is acted on: heartbeats and the store are not read in one order.
const patience = 3

// stranger is a claim that a worker runs and that is not its own any more.
func (a *Arbiter) stranger(w *worker, f *wire.InFlight, times int) {
	if a.found != nil {
		return
	}
	if times < patience {
		if w.strangers == nil {
			w.strangers = map[uint64]int{}
		}
		w.strangers[f.Claim] = times
		return
	}
	a.command(w.name, w.incarnation, wire.Command{
		Kind: wire.CommandCancel, ID: f.ID, Claim: f.Claim, Attempt: f.Attempt, Reason: "the claim is not this worker's any more",
	})
}

// unheard looks at the claims that a live worker should have and does not list.
// When the request is over, the claim has been acknowledged; else it is still to
// be pulled, or something was lost.
func (a *Arbiter) unheard(w *worker) {
	var doubts []*booking
	for _, b := range w.bookings {
		if b.heard == w.beats || b.claim == 0 {
			continue
		}
		b.absent++
		switch {
		case b.absent < patience:
		case b.settled:
			a.unbook(b)
		case !b.checking && a.found == nil:
			b.checking = true
			doubts = append(doubts, b)
		}
	}
	sortBookings(doubts)
	for _, b := range doubts {
		a.emit(CheckClaim{ID: b.id, Claim: b.claim})
	}
}

// claimChecked answers unheard's doubt.
func (a *Arbiter) claimChecked(ev ClaimChecked) {
	r := a.requests[ev.ID]
	if r == nil || r.booking == nil || r.booking.claim != ev.Claim || r.state != running {
		return // it has been settled since
	}
	b := r.booking
	run := b.absent < patience // a heartbeat has listed it meanwhile
	b.checking, b.absent = false, 0
	if !ev.Present && !run {
		a.emit(Relead{Why: "a claim is neither in WORK nor run by its worker, and DONE knows nothing of it"})
	}
}

// progress takes in a worker's event.
func (a *Arbiter) progress(e *wire.Event) {
	w := a.fleet.byName[e.Worker]
	if w == nil || w.incarnation != e.Incarnation {
		return
	}
	b := w.bookings[execution{e.ID, e.Attempt}]
	if b == nil {
		return
	}
	b.started = true
	switch {
	case e.Kind == wire.EventPrefilled:
		a.endPrefill(b)
	case e.Kind == wire.EventFirstToken && !b.first:
		a.firstToken(b)
	}
}

// stop tells a worker to end an attempt.
func (a *Arbiter) stop(b *booking, why string) {
	a.command(b.worker.name, b.incarnation, wire.Command{
		Kind: wire.CommandCancel, ID: b.id, Claim: b.claim, Attempt: b.attempt, Reason: why,
	})
}

func (a *Arbiter) command(worker string, incarnation uint64, c wire.Command) {
	c.Epoch = a.cfg.Epoch
	a.emit(Command{Worker: worker, Incarnation: incarnation, Command: c})
}
