package drr

import "slices"

type plainRing struct {
	members []plainMember
	cursor  int
	granted bool
}

type plainMember struct {
	quantum, deficit int64
	open             bool
}

func (r plainRing) clone() plainRing {
	r.members = slices.Clone(r.members)
	return r
}

// walk goes round until a member can pay for what it offers, and returns it; an offer of 0 is none.
func (r *plainRing) walk(offer func(i int) int64) (int, int64) {
	if !slices.ContainsFunc(r.order(), func(i int) bool { return offer(i) > 0 }) {
		return -1, 0
	}
	for {
		m, cost := &r.members[r.cursor], offer(r.cursor)
		if !r.granted && cost == 0 {
			r.advance()
			continue
		}
		if !r.granted && (!m.open || cost > m.deficit) {
			m.deficit += m.quantum
		}
		m.open, r.granted = false, true
		if cost > 0 && cost <= m.deficit {
			m.deficit -= cost
			return r.cursor, cost
		}
		m.open = cost == 0
		r.advance()
	}
}

func (r *plainRing) order() []int {
	var all []int
	for i := range r.members {
		all = append(all, i)
	}
	return all
}

func (r *plainRing) advance() { r.cursor, r.granted = (r.cursor+1)%len(r.members), false }

func (r *plainRing) emptied(i int) {
	r.members[i].deficit, r.members[i].open = 0, false
	if r.granted && r.cursor == i {
		r.advance()
	}
}
