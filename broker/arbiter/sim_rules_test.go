package arbiter

import (
	"slices"

	"fairlead/wire"
)

// checkDisplaced: who makes room is the newest of the lowest tier, and does so for
// a request of a higher one.
func (w *world) checkDisplaced(ev Event) {
	for id, v := range w.arb.verdicts {
		if v.Reason != wire.Displaced || w.displaced[id] {
			continue
		}
		w.displaced[id] = true
		r := w.arb.requests[id]
		came, ok := ev.(Arrived)
		if !ok || came.Request.Strict <= r.Strict || !r.cls.Displace {
			w.fail("%d of tier %d is displaced by %#v", id, r.Strict, ev)
		}
		for _, o := range w.arb.requests {
			if o.waits() && o.cls == r.cls && o.Seq != came.ID && (o.Strict < r.Strict || o.Strict == r.Strict && o.Seq > id) {
				w.fail("%d of tier %d is displaced, and %d of tier %d waits", id, r.Strict, o.Seq, o.Strict)
			}
		}
	}
}

// checkInTime: what is handed out in a class that sheds can still be in time, as
// far as speeds are known, which this step has not changed.
func (w *world) checkInTime(h *HandOut) {
	r := w.arb.requests[h.Claim.ID]
	if !r.cls.Shed || r.Deadline == 0 {
		return
	}
	fastest := 0.0
	for _, wk := range w.arb.fleet.byName {
		if wk.live && !wk.draining && wk.healthy && mayServe(r, wk) {
			fastest = max(fastest, wk.speed())
		}
	}
	left := float64(r.Deadline-w.arb.now) / 1e9
	if fastest > 0 && float64(r.Cost())/fastest > left+1e-6 {
		w.fail("%d is handed out %.3f s before its deadline, and needs %.3f s", r.Seq, left, float64(r.Cost())/fastest)
	}
}

// foretell has what is about to arrive explained, now and then. What time alone
// does is done first.
func (w *world) foretell(ev Event) *wire.Explanation {
	came, ok := ev.(Arrived)
	if !ok || !w.arb.Recovered() || came.Refusal != nil || came.ID <= w.arb.highest || w.rng.IntN(2) == 0 {
		return nil
	}
	w.step(Tick{})
	if w.arb.free <= w.arb.reserved() {
		return nil // nothing is decided before a guard is free
	}
	x := w.arb.explainNew(came.Request, came.At)
	if err := w.arb.invariants(); err != nil {
		w.fail("after an explanation: %v", err)
	}
	return &x
}

// checkForetold: what was foretold came true.
func (w *world) checkForetold(ev Event, acts []Action, x *wire.Explanation) {
	if x == nil {
		return
	}
	r := w.arb.requests[ev.(Arrived).ID]
	runs := slices.ContainsFunc(acts, func(act Action) bool {
		h, ok := act.(HandOut)
		return ok && h.Claim.ID == r.Seq
	})
	got := wire.ProspectWaits
	var reason wire.Reason
	switch {
	case runs:
		got = wire.ProspectRuns
	case !r.waits():
		got, reason = wire.ProspectRefused, w.arb.verdicts[r.Seq].Reason
	}
	late := x.Reason == wire.Shed && got == wire.ProspectWaits // it is shed when somebody asks about it
	for _, v := range w.arb.verdicts {
		if v.Reason == wire.Displaced && got != wire.ProspectRefused {
			return // who makes room may have stood before it, and takes a guard
		}
	}
	if got != x.Prospect && !late || reason != x.Reason && !late {
		w.fail("request %d was to be: %s %s (%s), and is: %s %s", r.Seq, x.Prospect, x.Reason, x.Why, got, reason)
	}
	if y := w.arb.Explain(r.Seq); y.Class != x.Class || y.Cost != x.Cost || r.state == queued && y.Lane != x.Lane {
		w.fail("request %d: %+v was foretold, and now it is %+v", r.Seq, x, y)
	}
	w.tally.Foretold++
}
