package arbiter

import (
	"fmt"

	"fairlead/drr"
)

// invariants checks everything that must hold between two steps, and says what
// does not.
func (a *Arbiter) invariants() error {
	for _, check := range []func() error{a.checkRequests, a.checkVerdicts, a.checkRings, a.checkFleet, a.checkGuards, a.checkTenants} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

func (a *Arbiter) checkRequests() error {
	for id, r := range a.requests {
		k := r.ask
		booked := r.state == placing || r.state == running || r.state == over
		switch {
		case r.Seq != id:
			return fmt.Errorf("request %d is filed under %d", r.Seq, id)
		case r.state == gone:
			return fmt.Errorf("request %d is gone, but known", id)
		case r.Queued() != (r.state == queued):
			return fmt.Errorf("request %d: state %d, in a lane: %t", id, r.state, r.Queued())
		case (r.ring().parked[id] == r) != (r.state == parked):
			return fmt.Errorf("request %d: state %d, parked wrongly", id, r.state)
		case (r.ring().picky[id] == r) != (r.waits() && r.picky()):
			return fmt.Errorf("request %d: state %d, picky wrongly", id, r.state)
		case r.waits() && a.found == nil && a.fit(r) == nowhere:
			return fmt.Errorf("request %d waits for what can never be", id)
		case booked && r.booking == nil || r.waits() && r.booking != nil:
			return fmt.Errorf("request %d: state %d, booking %v", id, r.state, r.booking)
		case r.booking != nil && (r.booking.id != id || r.booking.attempt != r.attempt):
			return fmt.Errorf("request %d, attempt %d has the booking of %v", id, r.attempt, r.booking.execution)
		case r.state == placing && r.booking.claim != 0 || r.state == running && r.booking.claim == 0:
			return fmt.Errorf("request %d: state %d with claim %d", id, r.state, r.booking.claim)
		case (a.verdicts[id] != nil) != (r.state == judged || r.state == sentenced):
			return fmt.Errorf("request %d: state %d, verdict %v", id, r.state, a.verdicts[id])
		case k != nil && k.pin != nil && a.fleet.byName[k.pin.name] != k.pin:
			return fmt.Errorf("request %d is pinned to a worker that is not in the fleet", id)
		case a.rings[r.ring().model] != r.ring() || r.ring().classes[r.cls.index] != r.cls:
			return fmt.Errorf("request %d belongs to a class or ring that is not in use", id)
		}
	}
	return nil
}

func (a *Arbiter) checkVerdicts() error {
	judgedNow, storing := 0, 0
	for id := range a.verdicts {
		r := a.requests[id]
		switch {
		case r == nil:
			return fmt.Errorf("a verdict about request %d, which is unknown", id)
		case r.state == judged:
			judgedNow++
		case r.state == sentenced:
			storing++
		}
	}
	listed := 0
	for _, r := range a.judged.items[a.judged.first:] {
		if r.state == judged {
			listed++
		}
	}
	if listed != judgedNow || storing != a.storing {
		return fmt.Errorf("%d verdicts wait, %d listed; %d under way, %d counted", judgedNow, listed, storing, a.storing)
	}
	return nil
}

func (a *Arbiter) checkRings() error {
	if len(a.order) != len(a.rings) {
		return fmt.Errorf("%d rings in order, %d by name", len(a.order), len(a.rings))
	}
	members, parkedNow, runningNow := map[*ring]int{}, map[*class]drr.Counters{}, map[*class]int{}
	for _, r := range a.requests {
		members[r.ring()]++
		if r.state == parked {
			n := parkedNow[r.cls]
			parkedNow[r.cls] = drr.Counters{
				Requests: n.Requests + 1, Raw: n.Raw + int64(r.Raw), Cached: n.Cached + int64(r.Cached), Uncached: n.Uncached + r.Uncached(),
			}
		}
		if r.handedOut() {
			runningNow[r.cls]++
		}
	}
	for _, in := range a.order {
		if in.members != members[in] {
			return fmt.Errorf("ring %q has %d members, counts %d", in.model, members[in], in.members)
		}
		if in.members == 0 && in.alone != 0 && in.model != "" {
			return fmt.Errorf("ring %q is kept for nothing", in.model)
		}
		for _, c := range in.classes {
			if c.running != runningNow[c] || c.parked != parkedNow[c] {
				return fmt.Errorf("class %s of %q: running %d, counts %d; parked %+v, counts %+v",
					c.Name, in.model, runningNow[c], c.running, parkedNow[c], c.parked)
			}
		}
	}
	return nil
}

func (a *Arbiter) checkFleet() error {
	pins, live := map[*worker]int{}, 0
	total := 0
	for _, r := range a.requests {
		if r.ask != nil && r.ask.pin != nil {
			pins[r.ask.pin]++
			total++
		}
	}
	indexes := map[int32]bool{}
	for _, i := range a.fleet.indexes {
		indexes[i] = true
	}
	for name, w := range a.fleet.byName {
		if w.live {
			live++
		}
		if err := a.checkWorker(name, w, pins[w]); err != nil {
			return err
		}
		if indexes[w.index] {
			return fmt.Errorf("worker %s: index %d is given twice", name, w.index)
		}
		indexes[w.index] = true
	}
	if live != len(a.fleet.live) || total != a.fleet.pins || len(indexes) != int(a.fleet.highest) {
		return fmt.Errorf("%d live, listed %d; %d pins, counted %d; %d indexes of %d", live, len(a.fleet.live), total, a.fleet.pins, len(indexes), a.fleet.highest)
	}
	return nil
}

func (a *Arbiter) checkWorker(name string, w *worker, pins int) error {
	switch {
	case w.name != name || w.live && a.fleet.live[w.place] != w:
		return fmt.Errorf("worker %s is filed wrongly", name)
	case (w.seat >= 0) != (w.live && w.hasSlot()) || w.seat >= 0 && a.fleet.roomy[w.seat] != w:
		return fmt.Errorf("worker %s: seat %d among those with room, ranks %+v", name, w.seat, w.ranks)
	case w.pinned != pins:
		return fmt.Errorf("worker %s has %d pins, counts %d", name, pins, w.pinned)
	case !w.live && w.pinned == 0 && len(w.bookings) == 0:
		return fmt.Errorf("worker %s is kept for nothing", name)
	}
	ranks, work := make([]rank, len(w.ranks)), int64(0)
	for e, b := range w.bookings {
		if b.worker != w || b.execution != e || b.incarnation != w.incarnation {
			return fmt.Errorf("worker %s has a foreign booking %v", name, e)
		}
		if r := a.requests[b.id]; !b.settled && (r == nil || r.booking != b) {
			return fmt.Errorf("worker %s: booking %v is nobody's and not settled", name, e)
		}
		if !b.freed {
			ranks[b.rank].used++
			ranks[b.rank].prefill += b.prefill
			work += b.cost
		}
	}
	for i := range ranks {
		if ranks[i] != w.ranks[i] {
			return fmt.Errorf("worker %s, rank %d: bookings %+v, counted %+v", name, i, ranks[i], w.ranks[i])
		}
	}
	if work != w.work {
		return fmt.Errorf("worker %s: work %d, counted %d", name, work, w.work)
	}
	return nil
}

func (a *Arbiter) checkGuards() error {
	placingNow := 0
	for _, r := range a.requests {
		if r.state == placing || r.state == over {
			placingNow++
		}
	}
	if used := a.cfg.Guards - a.free; a.free < 0 || used != placingNow+a.storing {
		return fmt.Errorf("%d guards used, %d claims and %d verdicts are under way", used, placingNow, a.storing)
	}
	return nil
}

// checkTenants: every name has one number, and is kept for as long as a request
// has it; every tenant that waits is counted.
func (a *Arbiter) checkTenants() error {
	refs, waiting := map[uint32]int{}, map[*class]map[uint32]int{}
	for _, r := range a.requests {
		refs[r.Tenant]++
		if r.waits() && r.cls.Tenants {
			if waiting[r.cls] == nil {
				waiting[r.cls] = map[uint32]int{}
			}
			waiting[r.cls][r.Tenant]++
		}
	}
	for n := range a.tenants.known {
		t := &a.tenants.known[n]
		number, named := a.tenants.numbers[t.name]
		if t.refs != refs[uint32(n)] || n > 0 && t.refs > 0 && (!named || number != uint32(n)) {
			return fmt.Errorf("tenant %d %q: %d requests, counts %d", n, t.name, refs[uint32(n)], t.refs)
		}
	}
	if used := len(a.tenants.numbers); used+len(a.tenants.free) != len(a.tenants.known) {
		return fmt.Errorf("%d tenants have a number and %d are free, of %d", used, len(a.tenants.free), len(a.tenants.known))
	}
	for _, in := range a.order {
		for _, c := range in.classes {
			if len(c.tenants) != len(waiting[c]) {
				return fmt.Errorf("class %s: %d tenants wait, counts %d", c.Name, len(waiting[c]), len(c.tenants))
			}
			for n, t := range c.tenants {
				if t.waiting != waiting[c][n] {
					return fmt.Errorf("class %s: %d requests of tenant %d wait, counts %d", c.Name, waiting[c][n], n, t.waiting)
				}
			}
		}
	}
	return nil
}

// leftover says what is still kept once every request has ended.
func (a *Arbiter) leftover() error {
	bookings, strangers := 0, 0
	for _, w := range a.fleet.byName {
		bookings += len(w.bookings)
		strangers += len(w.strangers)
	}
	queued := 0
	for _, in := range a.order {
		queued += in.sched.Len() + len(in.parked) + len(in.picky)
	}
	if n := len(a.requests) + len(a.verdicts) + len(a.losses) + len(a.nowaits) + a.judged.len() + queued + bookings + strangers; n > 0 {
		return fmt.Errorf("left: %d requests, %d verdicts, %d losses, %d nowaits, %d judged, %d queued, %d bookings, %d strangers",
			len(a.requests), len(a.verdicts), len(a.losses), len(a.nowaits), a.judged.len(), queued, bookings, strangers)
	}
	return nil
}
