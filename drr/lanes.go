package drr

// class is a Class at work: its flows and their lanes.
type class struct {
	Class
	turn       member // of the class in the scheduler
	only       *flow  // without tenants
	exactReady int    // exact lanes that are in the index of their flow
	closed     bool   // its shared lanes were found blocked, all of them
	surcharge  int64  // tokens, 0 to limit
	counters   Counters
	exact      []*lane       // by worker, a list over its ranks and the tenants; lanes without entries are not kept
	pins       map[pin]*lane // the same lanes, of a class with tenants
	flows      []*flow       // by tenant, nil for idle ones
	tenants    ring          // whose turn it is
}

// A pin names an exact lane of a class with tenants.
type pin struct {
	tenant uint32
	target Target
}

// candidate returns the flow that the class serves next, and its lane. The class is neither idle nor blocked.
func (c *class) candidate() (*flow, *lane) {
	f := c.only
	if f == nil {
		f = c.flows[c.tenants.first()]
	}
	if c.exactReady == 0 {
		return f, &f.shared // there is no other, and f need not be in a cache to know it
	}
	return f, f.lead
}

// offer returns what the class has to offer to the ring of classes.
func (c *class) offer() int64 {
	switch {
	case c.closed && c.exactReady == 0 && c.counters.Requests > 0:
		return blocked
	case c.only != nil:
		return c.only.offer()
	case c.counters.Requests == 0:
		return idle
	}
	return c.tenants.offer()
}

// flow returns the flow of a tenant, nil when it is idle.
func (c *class) flow(tenant uint32) *flow {
	switch {
	case !c.Tenants:
		return c.only
	case int64(tenant) >= int64(len(c.flows)):
		return nil
	}
	return c.flows[tenant]
}

// admit makes f, a flow not in use, the flow of a tenant.
func (c *class) admit(f *flow, tenant uint32) {
	if missing := int(tenant) + 1 - len(c.flows); missing > 0 {
		c.flows = append(c.flows, make([]*flow, missing)...)
	}
	c.tenants.due.grow(len(c.flows))
	f.join(c, tenant)
	c.flows[tenant] = f
}

// dismiss undoes admit. The last tenant to go takes the memory of many along.
func (c *class) dismiss(f *flow) {
	c.flows[f.turn.place] = nil
	if c.counters.Requests == 0 && len(c.flows) > keep {
		c.flows, c.pins, c.tenants.due = nil, nil, turns{}
	}
}

// members visits the members of the ring of tenants.
func (c *class) members(yield func(*member) bool) {
	for _, f := range c.flows {
		if f != nil && !yield(&f.turn) {
			return
		}
	}
}

// lane returns the lane of t in flow f if it holds anything.
func (c *class) lane(f *flow, t Target) *lane {
	switch {
	case t.Worker < 0:
		return &f.shared
	case c.Tenants:
		return c.pins[pin{f.turn.place, t}]
	}
	l := c.lanesOf(t.Worker)
	for l != nil && l.target.Rank != t.Rank {
		l = l.sibling
	}
	return l
}

// lanesOf returns the first of the exact lanes of worker.
func (c *class) lanesOf(worker int32) *lane {
	if worker < 0 || int(worker) >= len(c.exact) {
		return nil
	}
	return c.exact[worker]
}

// adopt makes l, a lane not in use, the lane of t in flow f.
func (c *class) adopt(l *lane, f *flow, t Target) {
	if missing := int(t.Worker) + 1 - len(c.exact); missing > 0 {
		c.exact = append(c.exact, make([]*lane, missing)...)
	}
	l.flow, l.target = f, t
	if l.sibling = c.exact[t.Worker]; l.sibling != nil {
		l.sibling.elder = l
	}
	c.exact[t.Worker] = l
	if c.Tenants {
		if c.pins == nil {
			c.pins = make(map[pin]*lane)
		}
		c.pins[pin{f.turn.place, t}] = l
	}
}

// abandon undoes adopt.
func (c *class) abandon(l *lane) {
	if l.elder != nil {
		l.elder.sibling = l.sibling
	} else {
		c.exact[l.target.Worker] = l.sibling
	}
	if l.sibling != nil {
		l.sibling.elder = l.elder
	}
	l.sibling, l.elder = nil, nil
	if c.Tenants {
		delete(c.pins, pin{l.flow.turn.place, l.target})
	}
}

// eachShared visits the entries of the shared lanes until fn returns false; it reports whether all were visited.
func (c *class) eachShared(fn func(*Entry) bool) bool {
	if !c.Tenants {
		return c.only.shared.entries.each(fn)
	}
	for _, f := range c.flows {
		if f != nil && !f.shared.entries.each(fn) {
			return false
		}
	}
	return true
}

// eachOf does the same for the exact lanes of worker.
func (c *class) eachOf(worker int32, fn func(*Entry) bool) bool {
	for l := c.lanesOf(worker); l != nil; l = l.sibling {
		if !l.entries.each(fn) {
			return false
		}
	}
	return true
}
