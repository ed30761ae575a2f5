package drr

import "iter"

// limit bounds deficits, quanta and surcharges on either side, so that no sum below can overflow: a
// cost is under 2³² + limit, hence what is needed and what is earned stay under 2⁶².
const limit = 1 << 60

// farRound is the round at which a ring starts to count from zero again.
const farRound = 1 << 61

// What a member offers, if not the cost of its candidate.
const (
	idle    int64 = 0  // nothing is queued
	blocked int64 = -1 // something is, but no candidate is known that could go
)

// A ring is exact Deficit Round Robin over members that offer the cost of a candidate each. The
// first member is served next; looking at it changes nothing, commit does. doc.go derives the rules
// that are cited here, and why the order of the members is fixed until their offers change.
type ring struct {
	due   turns   // the visits that can pay, of members with a candidate
	round int64   // visits are counted in rounds, and a round goes by places
	next  int64   // the first place that this round has not come to
	on    *member // its visit is on: it has had the quantum of this round
}

// A member is one class of a scheduler, or one tenant of a class. A quantum that it did not get yet although
// the round has passed its place is added when its deficit is looked at.
type member struct {
	quantum int64  // tokens a visit, 1 to limit
	deficit int64  // tokens earned and not spent up to the visit of round base, within ±limit
	base    int64  // round of the next visit that deficit does not contain; of no meaning without a candidate
	cost    int64  // tokens that its candidate is charged, or idle, or blocked
	place   uint32 // its number and its place in the round
	open    bool   // its visit was interrupted because it was blocked
}

// first returns the place of the member to serve next, or -1 when none has a candidate.
func (r *ring) first() int { return r.due.lead }

// offer returns what the first member offers, or blocked.
func (r *ring) offer() int64 {
	if r.due.lead < 0 {
		return blocked
	}
	return r.due.leaves[r.due.lead].cost
}

// commit serves the first member: it moves the cursor there, grants the visits on the way and charges the
// candidate. next is what the member offers from now on.
func (r *ring) commit(m *member, next int64) {
	if !r.goesOn(m) {
		r.arrive(m)
	}
	m.add(-m.cost)
	if next <= 0 {
		r.set(m, next)
		return
	}
	m.cost = next
	round := r.round // for which it is listed
	if next > m.deficit {
		round = m.base + m.visits() - 1
	}
	r.due.set(int(m.place), round, next)
}

// arrive moves the cursor to m, whose visit begins or is taken up again.
func (r *ring) arrive(m *member) {
	if r.on != nil && r.on.cost == blocked {
		r.on.open = true
	}
	round := r.due.leaves[m.place].round
	if !m.resumes() {
		m.add((round - m.base + 1) * m.quantum)
	}
	r.round, r.next, r.on = round, int64(m.place)+1, m
	m.base, m.open = round+1, false
}

// goesOn reports whether m is served in the visit that is on.
func (r *ring) goesOn(m *member) bool { return r.on == m && m.cost <= m.deficit }

// resumes reports whether m takes up its open visit on its next one, and earns nothing.
func (m *member) resumes() bool { return m.open && m.cost <= m.deficit }

// set says what m offers from now on: a cost, idle or blocked.
func (r *ring) set(m *member, cost int64) {
	was := m.cost
	switch {
	case cost == was:
		return
	case was > 0:
		r.settle(m)
	default:
		m.base = r.visit(m)
	}
	if m.cost = cost; cost > 0 {
		r.list(m)
		return
	}
	if was > 0 {
		r.due.set(int(m.place), never, 0)
	}
	if cost == idle {
		r.forget(m)
	}
}

// forget applies rule 5: an idle member has no history.
func (r *ring) forget(m *member) {
	m.deficit, m.open = 0, false
	if r.on == m {
		r.on = nil
	}
}

// list puts m, whose cost or deficit changed, in its place among the visits that are due.
func (r *ring) list(m *member) { r.due.set(int(m.place), r.turnOf(m), m.cost) }

// turnOf returns the round of the visit in which m can pay.
func (r *ring) turnOf(m *member) int64 {
	if r.goesOn(m) {
		return r.round
	}
	return m.base + m.visits() - 1
}

// visits returns how many visits m needs before it can pay, at least 1.
func (m *member) visits() int64 {
	need := m.cost - m.deficit
	if need <= m.quantum {
		return 1
	}
	return (need-1)/m.quantum + 1
}

// visit returns the round of the next visit to m.
func (r *ring) visit(m *member) int64 {
	if int64(m.place) < r.next {
		return r.round + 1
	}
	return r.round
}

// settle grants m the quanta of the visits that were made to it. Only members with a candidate are owed any.
func (r *ring) settle(m *member) {
	if made := r.visit(m) - m.base; made > 0 {
		m.add(made * m.quantum)
		m.base += made
		m.open = false
	}
}

// credit returns the deficit of m as it is now.
func (r *ring) credit(m *member) int64 {
	if m.cost > 0 {
		r.settle(m)
	}
	return m.deficit
}

// charge corrects the deficit of m, which is not idle, by tokens; negative ones are given back.
func (r *ring) charge(m *member, tokens int64) {
	r.credit(m)
	m.add(-min(max(tokens, -limit), limit))
	if m.cost > 0 {
		r.list(m)
	}
}

func (m *member) add(tokens int64) {
	m.deficit = min(max(m.deficit+tokens, -limit), limit)
}

// rebase keeps rounds small. Members without a candidate have no round to remember.
func (r *ring) rebase(members iter.Seq[*member]) {
	for m := range members {
		if m.cost > 0 {
			m.base -= r.round
			r.due.leaves[m.place].round -= r.round
		}
	}
	r.round = 0
	r.due.rebuild()
}

// point puts the cursor at a place. The visit of m, if given, is on. Every member has to be restored afterwards.
func (r *ring) point(place uint32, m *member) {
	r.next, r.on = int64(place), m
	if m != nil {
		r.next++
	}
}

// restore gives m, which is not idle, the credit that it had.
func (r *ring) restore(m *member, deficit int64, open bool) {
	m.deficit, m.open, m.base = min(max(deficit, -limit), limit), open, r.visit(m)
	if m.cost > 0 {
		r.list(m)
	}
}
