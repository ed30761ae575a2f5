package arbiter

import "fairlead/policy"

// reload replaces the policy. Classes of the same name keep their deficits,
// queues and counts; requests of a class that is gone are classified again.
func (a *Arbiter) reload(p *policy.Policy) {
	a.cfg.Policy = p
	for _, in := range a.order {
		waiting := a.waiting(in)
		credit := in.sched.Snapshot()
		old := in.classes
		for _, r := range waiting {
			a.leaveLane(r)
		}
		in.adopt(p.Profile(in.model))
		for _, c := range in.classes {
			c.inherit(old)
		}
		for _, r := range a.requests {
			if r.ring() == in {
				r.cls = in.like(r.cls.Class, r.Uncached())
			}
		}
		in.countRunning(a.requests)
		for _, r := range waiting {
			a.enqueue(r)
		}
		in.sched.Restore(credit)
	}
}

// inherit takes over the counts of the class of the same name.
func (c *class) inherit(old []*class) {
	for _, o := range old {
		if o.Name == c.Name {
			c.dispatched, c.completed, c.failed = o.dispatched, o.completed, o.failed
			c.tokens, c.shared, c.drain = o.tokens, o.shared, o.drain
		}
	}
}

// countRunning counts what is handed out, by class.
func (in *ring) countRunning(requests map[uint64]*request) {
	for _, r := range requests {
		if r.ring() == in && (r.state == placing || r.state == running || r.state == over) {
			r.cls.running++
		}
	}
}
