package arbiter

import (
	"math"
	"slices"

	"fairlead/drr"
	"fairlead/policy"
)

// reload replaces the policy. Classes of the same name keep their deficits,
// queues and counts; requests of a class that is gone are classified again.
func (a *Arbiter) reload(p *policy.Policy) {
	a.cfg.Policy = p
	waiting := make([][]*request, len(a.order))
	credit := make([]drr.State, len(a.order))
	for i, in := range a.order {
		waiting[i], credit[i] = a.waiting(in, everyone), in.sched.Snapshot()
		for _, r := range waiting[i] {
			a.leaveLane(r)
		}
		old := in.classes
		in.adopt(p.Profile(in.model), a.tenants)
		for _, c := range in.classes {
			c.inherit(old)
			c.estimate()
		}
	}
	for _, r := range a.requests {
		r.cls = r.ring().like(r.cls.Class, r.Uncached())
		if r.handedOut() {
			r.cls.running++
		}
	}
	for i, in := range a.order {
		for _, r := range waiting[i] {
			a.enqueue(r)
		}
		in.restore(credit[i])
	}
}

// restore gives the classes of a ring their credit back, each at most a quantum
// and its largest charge, as it may have by itself: what was earned by a larger
// quantum, of a policy that was changed, must not outlive it.
func (in *ring) restore(s drr.State) {
	s.Classes = slices.Clone(s.Classes)
	for i := range s.Classes {
		if c := in.named(s.Classes[i].Name); c != nil {
			s.Classes[i].Deficit = c.atMost(s.Classes[i].Deficit)
		}
	}
	in.sched.Restore(s)
}

// atMost bounds a credit. What waits counts as well: a class may have saved up for it.
func (c *class) atMost(credit int64) int64 {
	largest := c.largest
	if credit > c.mostCredit(largest) {
		c.ring.sched.Each(c.index, func(e *drr.Entry) bool {
			largest = max(largest, e.Cost()+c.surcharge())
			return true
		})
	}
	return min(credit, c.mostCredit(largest))
}

// mostCredit is what a class whose largest charge is known may have by itself.
func (c *class) mostCredit(largest int64) int64 { return min(c.Quantum, math.MaxInt64/4) + largest }

// inherit takes over the counts of the class of the same name.
func (c *class) inherit(old []*class) {
	for _, o := range old {
		if o.Name == c.Name {
			c.dispatched, c.completed, c.failed = o.dispatched, o.completed, o.failed
			c.tokens, c.shared, c.drain, c.output, c.largest = o.tokens, o.shared, o.drain, o.output, o.largest
		}
	}
}
