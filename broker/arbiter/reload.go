package arbiter

import (
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
		in.sched.Restore(credit[i])
	}
}

// inherit takes over the counts of the class of the same name.
func (c *class) inherit(old []*class) {
	for _, o := range old {
		if o.Name == c.Name {
			c.dispatched, c.completed, c.failed = o.dispatched, o.completed, o.failed
			c.tokens, c.shared, c.drain, c.output, c.largest = o.tokens, o.shared, o.drain, o.output, o.largest
		}
	}
}
