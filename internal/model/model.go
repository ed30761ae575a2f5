package model

// model takes every step that can follow a world, one at a time.
type model struct {
	sc     *Scenario
	now    *world
	next   world
	faulty bool
	broken Promise
	capped bool // a step was left out for want of room
	visit  func(m *model, s step)
}

// begin starts a step from the present world.
func (m *model) begin() *world {
	m.next, m.broken, m.faulty = *m.now, 0, false
	return &m.next
}

// can starts a step that is a fault; nil when there is none left.
func (m *model) can(f Fault) *world {
	if m.now.left[f] == 0 || m.now.total == 0 {
		return nil
	}
	n := m.begin()
	n.left[f]--
	n.total--
	m.faulty = true
	return n
}

// take ends a step.
func (m *model) take(a act, who, request, detail uint8) {
	m.next.tidy()
	m.visit(m, step{a, who, request, detail})
}

// breaks notes that the step breaks a promise.
func (m *model) breaks(p Promise, when bool) {
	if when {
		m.broken |= p
	}
}

// had reports whether a fault has happened.
func (m *model) had(f Fault) bool { return m.next.left[f] != m.sc.Faults[f] }

// successors takes every step.
func (m *model) successors(w *world) {
	m.now, m.capped = w, false
	m.clients()
	for b := range m.now.broker {
		m.brokers(uint8(b))
	}
	for k := range m.now.messages {
		m.agent(k)
	}
	m.crashes()
	m.recreate()
}

// clients publish, cancel, and grow impatient.
func (m *model) clients() {
	for r := range uint8(m.sc.Requests) {
		if !m.now.published.has(r) {
			n := m.begin()
			n.published = n.published.with(r)
			n.req = n.req.with(r)
			m.take(publish, 0, r, 0)
			return // in order
		}
		if n := m.can(Deadline); n != nil && !n.late.has(r) && n.req.has(r) {
			n.late = n.late.with(r)
			m.take(deadlinePasses, 0, r, 0)
		}
		if n := m.can(StoreTTL); n != nil && n.late.has(r) && n.req.has(r) {
			n.req = n.req.without(r)
			n.expired = n.expired.with(r)
			m.take(ttl, 0, r, 0)
		}
	}
}

// recreate deletes WORK and makes it anew. Unless its sequences are fresh, guards
// that are written later can stand where older ones stood.
func (m *model) recreate() {
	n := m.can(Recreate)
	if n == nil || n.leader() < 0 {
		return
	}
	n.remove(n.inWork())
	for b := range n.broker {
		if n.holds(uint8(b)) {
			n.broker[b].guards = noGuards
			if !m.sc.Rules.FreshSequences {
				n.broker[b].guards = guardsRepeat
			}
		}
	}
	m.take(recreated, 0, 0, 0)
}

// crashes are an agent's: its next incarnation starts at once. One that has
// nothing in hand, and that nobody is about to give anything, may as well live.
func (m *model) crashes() {
	for a, i := range m.now.agents[:m.sc.Agents] {
		if !m.busy(i) {
			continue
		}
		if m.now.incarnations == maxIncarnations {
			m.capped = true
			return
		}
		if n := m.can(AgentCrash); n != nil {
			n.alive = n.alive.without(i).with(n.incarnations)
			n.agents[a] = n.incarnations
			n.incarnations++
			m.take(agentCrash, uint8(a), i, n.agents[a])
		}
	}
}

func (m *model) busy(incarnation uint8) bool {
	for k := range m.now.messages {
		if c := &m.now.work[k]; c.claim() && c.incarnation == incarnation && (c.is(present) || c.phase.active()) {
			return true
		}
	}
	for b := range m.now.broker {
		for r := range m.now.broker[b].request {
			if q := &m.now.broker[b].request[r]; q.state.placed() && q.incarnation == incarnation {
				return true
			}
		}
	}
	return false
}

// tell gives a client its outcome. A client that has shown a part of one attempt
// takes no other's result.
func (m *model) tell(r, what uint8) {
	n := &m.next
	if n.heard[r] == 0 && results.has(what) && !m.sc.Retry {
		other := n.shown[r]&^one(what) != 0
		if other && m.sc.Rules.OneAttemptShown {
			what = toldLost
		}
		m.breaks(Mixed, other && results.has(what))
	}
	n.heard[r] = n.heard[r].with(what)
}

// show gives a client a token. One that has shown another attempt ends by itself.
func (m *model) show(r, attempt uint8) {
	n := &m.next
	if n.heard[r] != 0 {
		return
	}
	if n.shown[r] |= one(result(attempt)); n.shown[r] != one(result(attempt)) && m.sc.Rules.OneAttemptShown && !m.sc.Retry {
		n.heard[r] = n.heard[r].with(toldLost)
	}
}

// result is the number of an attempt's result.
func result(attempt uint8) uint8 { return min(attempt, 3) - 1 }
