package arbiter

import (
	"fmt"
	"time"

	"fairlead/wire"
)

// fitOf says whether a worker may have a request, and could have it now.
func (a *Arbiter) fitOf(w *worker, r *request) wire.WorkerFit {
	x := wire.WorkerFit{Worker: w.name}
	if x.Why = a.unfit(w, r); x.Why != "" {
		return x
	}
	x.Eligible = true
	if a.freeRank(w, r) < 0 {
		x.Busy, x.Why = true, a.whyBusy(w, r)
	}
	return x
}

// unfit says why a worker may not have a request, or "".
func (a *Arbiter) unfit(w *worker, r *request) string {
	k := r.ask
	switch {
	case !w.live:
		return "no heartbeat is heard of it"
	case w.draining:
		return "it is draining"
	case !w.healthy:
		return "its engine is not healthy"
	case w.overloaded:
		return "it is overloaded"
	case k == nil:
		return ""
	case k.pin != nil && a.impossible(r.ring(), r) != "":
		return a.impossible(r.ring(), r)
	case !suits(w, r.ring(), r) && !subset(k.require, w.taints):
		return "it lacks a taint of " + wire.HeaderRequireTaints
	case !suits(w, r.ring(), r):
		return "it is not in " + wire.HeaderAllowWorkers
	}
	return ""
}

// whyBusy looks at the ranks that the request may go to.
func (a *Arbiter) whyBusy(w *worker, r *request) string {
	if w.holdUntil > a.now {
		return "its engine said busy, for " + time.Duration(w.holdUntil-a.now).Round(time.Millisecond).String() + " more"
	}
	used, slots, prefill := 0, 0, int64(0)
	for i := range w.ranks {
		if r.ask == nil || r.ask.rank < 0 || int(r.ask.rank) == i {
			used, slots, prefill = used+w.ranks[i].used, slots+w.slots, prefill+w.ranks[i].prefill
		}
	}
	if used >= slots {
		return fmt.Sprintf("%d of %d slots are used", used, slots)
	}
	return fmt.Sprintf("%d prefill tokens are above its threshold for class %s", prefill, r.cls.Name)
}
