package arbiter

import "fairlead/wire"

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
		pinned := r.ask != nil && r.ask.pin != nil
		if wk.live && mayServeModel(r, wk) && (!pinned || wk == r.ask.pin) {
			fastest = max(fastest, wk.speed())
		}
	}
	left := float64(r.Deadline-w.arb.now) / 1e9
	if fastest > 0 && float64(r.Cost())/fastest > left+1e-6 {
		w.fail("%d is handed out %.3f s before its deadline, and needs %.3f s", r.Seq, left, float64(r.Cost())/fastest)
	}
}

func mayServeModel(r *request, wk *worker) bool {
	return r.ring().model == "" || wk.serves(r.ring().model)
}
