package drr

import "math"

// never is the round of a member that has no candidate.
const never = math.MaxInt64

// A turn is the next visit in which a member can pay for its candidate.
type turn struct {
	round int64 // ≥ 0, or never
	cost  int64 // tokens that the candidate is charged
}

// turns finds the first of the members of a ring, by round and then by place. It is a tree of four children a node,
// of which each carries the first of its members. A change rewrites the path from a leaf towards the root. It compares
// without branches, because no predictor would win, and looks at no member, because they are scattered in memory.
type turns struct {
	leaves []turn      // by place
	inner  [][]winners // inner[0] has the first of each four leaves, the next that of each four of these, …
	lead   int         // place of the first, or -1
}

// A winner is the first of some members.
type winner struct {
	round int64
	place int
}

// winners are those of the four children of a node.
type winners [4]winner

// grow makes room for n places.
func (t *turns) grow(n int) {
	had := len(t.leaves)
	if n <= had {
		return
	}
	t.leaves = append(t.leaves, make([]turn, fours(max(n, 2*had))*4-had)...)
	for i := range t.leaves[had:] {
		t.leaves[had+i].round = never
	}
	t.inner = t.inner[:0]
	for n := len(t.leaves) / 4; n > 1; n = fours(n) {
		t.inner = append(t.inner, make([]winners, fours(n)))
	}
	t.rebuild()
}

// fours returns how many groups of four hold n.
func fours(n int) int { return (n + 3) / 4 }

// rebuild computes the inner nodes from the leaves.
func (t *turns) rebuild() {
	for _, level := range t.inner {
		for i := range level {
			level[i] = winners{{never, -1}, {never, -1}, {never, -1}, {never, -1}}
		}
	}
	for place := 0; place < len(t.leaves); place += 4 {
		t.lift(place)
	}
}

// set says in which round the member at place can pay for a candidate of a cost.
func (t *turns) set(place int, round, cost int64) {
	leaf := &t.leaves[place]
	leaf.cost = cost
	if leaf.round == round {
		return
	}
	leaf.round = round
	t.lift(place)
}

// lift carries the first of the four leaves around place up as far as that makes a difference.
func (t *turns) lift(place int) {
	group := (*[4]turn)(t.leaves[place&^3:])
	i := leastOf(group[0].round, group[1].round, group[2].round, group[3].round)
	first := winner{group[i].round, place&^3 + i}
	for _, level := range t.inner {
		place >>= 2
		node, child := &level[place>>2], place&3
		if node[child] == first {
			return
		}
		node[child] = first
		first = node[leastOf(node[0].round, node[1].round, node[2].round, node[3].round)]
	}
	if t.lead = first.place; first.round == never {
		t.lead = -1
	}
}

// leastOf returns which of four is the least, and the first of several.
func leastOf(a, b, c, d int64) int {
	left, right := below(b, a), below(d, c)
	return left + below(min(c, d), min(a, b))*(2+right-left)
}

// below is 1 if a < b, else 0, which takes a flag and no branch.
func below(a, b int64) int {
	if a < b {
		return 1
	}
	return 0
}
