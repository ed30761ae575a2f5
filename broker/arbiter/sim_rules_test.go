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
