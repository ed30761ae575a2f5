package drr

// A flow is the lanes of a class that have one candidate between them. A class has one, or one for each of its
// tenants that has something queued. Most have nothing but the shared lane, which is therefore not in the index.
//
// Its 256 bytes begin with a cache line, and the shared lane with the next.
type flow struct {
	turn     member // of the tenant in its class
	class    *class
	requests int
	lead     *lane // of the candidate; nil when every lane is empty or known to be blocked
	shared   lane
	exact    queue[*lane]    // exact lanes that have a head nobody found blocked, by its key
	fewer    [1]node[*Entry] // where shared begins, because most tenants have few requests
	spare    *flow           // the next one not in use
}

// join makes f, a flow not in use, that of a tenant of c.
func (f *flow) join(c *class, tenant uint32) {
	f.class = c
	f.turn = member{quantum: c.share(tenant), place: tenant}
	f.shared.flow, f.shared.target = f, Shared
	if f.shared.entries.run == nil {
		f.shared.entries.run = f.fewer[:0]
	}
}

// choose finds the lane of the candidate, after the lanes have changed.
func (f *flow) choose() {
	var lead *lane
	if s := &f.shared; s.entries.live > 0 && !s.blocked {
		lead = s
	}
	if f.class.exactReady > 0 && f.exact.live > 0 {
		if exact := f.exact.top(); lead == nil || exact.key.before(&lead.entries.top().key) {
			lead = exact.ref
		}
	}
	f.lead = lead
}

// offer returns what the flow has to offer to the ring of its class.
func (f *flow) offer() int64 {
	switch {
	case f.requests == 0:
		return idle
	case f.lead == nil:
		return blocked
	}
	return f.lead.cost
}

// list takes note of the head of l, a lane of f, and puts an exact lane into the index.
func (f *flow) list(l *lane) {
	k := l.observe()
	if l != &f.shared {
		f.exact.push(l.node(k), 0)
		f.class.exactReady++
	}
}

// delist takes a lane out of the index.
func (f *flow) delist(l *lane) {
	if l != &f.shared {
		l.gen++
		f.exact.remove(keyOf(&f.class.Class, l.head), l)
		f.class.exactReady--
	}
}

// relist takes note of the new head of l, which leads.
func (f *flow) relist(l *lane) {
	k := l.observe()
	if l != &f.shared {
		f.exact.replace(l.node(k))
	}
}

// drop takes l, which leads, out of the index.
func (f *flow) drop(l *lane) {
	if l != &f.shared {
		f.exact.pop()
		f.class.exactReady--
	}
}
