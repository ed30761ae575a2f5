package drr

// A flow is the lanes of a class that have one candidate between them, and an index of those that are not known
// to be blocked. A class has one, or one for each of its tenants that has something queued.
type flow struct {
	turn     member // of the tenant in its class
	class    *class
	ready    queue[*lane] // lanes that have a head nobody found blocked, by the head's key
	requests int
	shared   lane
	few      [1]node[*lane]  // where ready begins, because most tenants use one lane
	fewer    [1]node[*Entry] // and shared, because most have few requests
	spare    *flow           // the next one not in use
}

// join makes f, a flow not in use, that of a tenant of c.
func (f *flow) join(c *class, tenant uint32) {
	f.class = c
	f.turn = member{quantum: c.share(tenant), place: tenant, gen: f.turn.gen}
	f.shared.flow, f.shared.target = f, Shared
	if f.ready.run == nil {
		f.ready.run = f.few[:0]
	}
	if f.shared.entries.run == nil {
		f.shared.entries.run = f.fewer[:0]
	}
}

// offer returns what the flow has to offer to the ring of its class.
func (f *flow) offer() int64 {
	switch {
	case f.requests == 0:
		return idle
	case f.ready.live == 0:
		return blocked
	}
	return f.ready.top().ref.cost
}

// list puts a lane of f into the index under the key of its head.
func (f *flow) list(l *lane) {
	f.ready.push(l.node())
	f.class.exactReady += l.exact()
}

// delist takes a lane out of the index.
func (f *flow) delist(l *lane) {
	l.gen++
	f.ready.removed()
	f.class.exactReady -= l.exact()
}

// dropFirst takes the first lane out of the index.
func (f *flow) dropFirst() { f.class.exactReady -= f.ready.pop().exact() }
