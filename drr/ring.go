package drr

// limit bounds deficits and quanta on either side, so that no sum below can overflow: a cost is
// under 2³², hence what is needed and what is earned stay under 2⁶².
const limit = 1 << 60

// A ring is exact Deficit Round Robin over members that offer the cost of a candidate each. It
// decides in two steps, choose and commit, so that a member may hold a ring of its own and a
// choice that is not followed changes nothing. doc.go derives the rules that are cited here.
type ring struct {
	members []member
	waiting bitset // members with something queued, dispatchable or not
	cursor  int
	granted bool   // the member under the cursor has had this visit's quantum
	commits uint64 // dispatches so far, plus one
	choice  choice
}

type member struct {
	quantum  int64  // tokens a visit, 1 to limit
	deficit  int64  // tokens earned and not spent, within ±limit
	open     bool   // its visit was interrupted because it was blocked
	refunded uint64 // ring.commits when it was last refunded while empty
}

// A choice is what commit carries out.
type choice struct {
	winner int
	rounds int64 // visits that the winner needs
	goesOn bool  // the winner is served from the visit it is in
	resume bool  // the winner takes up its open visit and earns nothing
	seen   []int // dispatchable members in ring order, from the cursor to where it was settled
	kept   offer // of the member under the cursor when granted
}

// An offer is the cost of a member's candidate; ok is false when the member is blocked.
type offer struct {
	cost int64
	ok   bool
}

func newRing(quanta []int64) ring {
	r := ring{members: make([]member, len(quanta)), waiting: newBitset(len(quanta)), commits: 1}
	for i, q := range quanta {
		r.members[i].quantum = min(q, limit)
	}
	r.choice.seen = make([]int, 0, len(quanta))
	return r
}

// choose returns the member to serve next, or false when no member has a dispatchable candidate.
// Each member is asked at most once, and only if the decision depends on it.
func (r *ring) choose(ask func(int) offer) (int, bool) {
	r.choice = choice{winner: -1, seen: r.choice.seen[:0]}
	from := r.cursor
	if r.granted {
		r.choice.kept = ask(r.cursor)
		if r.choice.kept.ok && r.choice.kept.cost <= r.members[r.cursor].deficit {
			r.choice.winner, r.choice.goesOn = r.cursor, true
			return r.cursor, true
		}
		from++
	}
	if !r.survey(from, len(r.members), ask) {
		r.survey(0, from, ask)
	}
	return r.choice.winner, r.choice.winner >= 0
}

// survey applies rule 2 to the members in [lo, hi). It stops, and returns true, at the first one that needs a
// single visit: nobody needs fewer, and those behind it earn nothing.
func (r *ring) survey(lo, hi int, ask func(int) offer) bool {
	c := &r.choice
	for i := r.waiting.next(lo); i < hi; i = r.waiting.next(i + 1) {
		var o offer
		if r.granted && i == r.cursor {
			o = c.kept
		} else {
			o = ask(i)
		}
		if !o.ok {
			continue
		}
		c.seen = append(c.seen, i)
		m := &r.members[i]
		if n := m.visits(o.cost); c.winner < 0 || n < c.rounds {
			c.winner, c.rounds, c.resume = i, n, m.open && o.cost <= m.deficit
		}
		if c.rounds == 1 {
			return true
		}
	}
	return false
}

// visits returns how many quanta the member must be granted before it can pay cost, at least 1.
func (m *member) visits(cost int64) int64 {
	need := cost - m.deficit
	if need <= m.quantum {
		return 1
	}
	return (need-1)/m.quantum + 1
}

// commit carries out the last choice: it grants what was earned on the way to the winner and charges it.
// emptied says that the winner has nothing left.
func (r *ring) commit(cost int64, emptied bool) {
	c := &r.choice
	if !c.goesOn {
		if r.granted && !c.kept.ok {
			r.members[r.cursor].open = true
		}
		r.grant()
		r.cursor, r.granted = c.winner, true
	}
	m := &r.members[c.winner]
	m.open = false
	m.add(-cost)
	r.commits++
	if emptied {
		r.empty(c.winner)
	}
}

// grant applies rule 3.
func (r *ring) grant() {
	c := &r.choice
	visits := c.rounds
	for _, i := range c.seen {
		if !(i == c.winner && c.resume) {
			r.members[i].earn(visits)
		}
		if i == c.winner {
			visits--
		}
	}
}

func (m *member) earn(visits int64) {
	if visits > 0 {
		m.add(visits * m.quantum)
		m.open = false
	}
}

func (m *member) add(tokens int64) {
	m.deficit = min(max(m.deficit+tokens, -limit), limit)
}

// fill says that member i, which was empty, has something queued. What it was refunded since the
// last dispatch is its own; anything older was lost when it emptied.
func (r *ring) fill(i int) {
	r.waiting.set(i)
	if m := &r.members[i]; m.refunded != r.commits {
		m.deficit = 0
	}
}

// empty applies rule 5 to member i, for whatever reason it has nothing left.
func (r *ring) empty(i int) {
	r.waiting.unset(i)
	m := &r.members[i]
	m.deficit, m.open, m.refunded = 0, false, 0
	if r.granted && r.cursor == i {
		r.granted = false
		if r.cursor++; r.cursor == len(r.members) {
			r.cursor = 0
		}
	}
}

// refund gives tokens back to member i, or charges it when negative.
func (r *ring) refund(i int, tokens int64) {
	m := &r.members[i]
	if !r.waiting.has(i) && m.refunded != r.commits {
		m.deficit, m.refunded = 0, r.commits
	}
	m.add(min(max(tokens, -limit), limit))
}

// restore gives member i the credit it had, unless it is empty.
func (r *ring) restore(i int, deficit int64, open bool) {
	if !r.waiting.has(i) {
		return
	}
	m := &r.members[i]
	m.deficit, m.open = 0, open
	m.add(min(max(deficit, -limit), limit))
}

// point sets the cursor. An empty member has no visit to go on with: the next one is due.
func (r *ring) point(i int, granted bool) {
	r.cursor, r.granted = i, granted
	if granted && !r.waiting.has(i) {
		r.empty(i)
	}
}
