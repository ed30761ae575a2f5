package drr

import (
	"fmt"
	"math"
)

// never is the round of a member that has no candidate.
const never = math.MaxInt64

// A turn is the next visit in which a member can pay for its candidate.
type turn struct {
	round int64 // ≥ 0, or never
	cost  int64 // tokens that the candidate is charged
}

// turns finds the first of the members of a ring, by round and then by place. It is a tree of four children a node, which
// carries the stamp of the first of its members. A change rewrites the path from a leaf towards the root. It compares
// without branches, because no predictor would win, and looks at no member, because they are scattered in memory.
type turns struct {
	leaves []turn   // by place
	levels [][]four // levels[0] has the stamps of the leaves, the next the firsts of these nodes, …
	origin int64    // the round that stamps count from
	lead   int      // place of the first, or -1
}

// A stamp is a round and a place in one number, so that one comparison says which comes first. Its rounds end at far:
// later ones are told apart when nothing else is left.
type stamp uint64

// A four is a node: the stamps of its children.
type four [4]stamp

const (
	placeBits       = 28
	places          = 1<<placeBits - 1 // more than any ring has
	far             = 1<<(64-placeBits) - 2
	none      stamp = math.MaxUint64 // of a leaf without a candidate
)

// stamp returns the stamp of a turn in a round that is not before the origin.
func (t *turns) stamp(place int, round int64) stamp {
	if round == never {
		return none
	}
	return stamp(min(round-t.origin, far))<<placeBits | stamp(place)
}

func (s stamp) isFar() bool { return s>>placeBits == far }

// grow makes room for n places.
func (t *turns) grow(n int) {
	had := len(t.leaves)
	if n <= had {
		return
	}
	if n > places {
		panic(fmt.Sprintf("drr: place %d in a ring, must be below %d", n-1, places))
	}
	t.leaves = append(t.leaves, make([]turn, fours(max(n, 2*had))*4-had)...)
	for i := range t.leaves[had:] {
		t.leaves[had+i].round = never
	}
	t.levels = t.levels[:0]
	for n := fours(len(t.leaves)); ; n = fours(n) {
		t.levels = append(t.levels, make([]four, n))
		if n == 1 {
			break
		}
	}
	t.rebuild()
}

// fours returns how many groups of four hold n.
func fours(n int) int { return (n + 3) / 4 }

// rebuild lets stamps count from the first round, and computes all of them.
func (t *turns) rebuild() {
	t.origin = never
	for _, leaf := range t.leaves {
		t.origin = min(t.origin, leaf.round)
	}
	for _, level := range t.levels {
		for i := range level {
			level[i] = four{none, none, none, none}
		}
	}
	t.lead = -1
	if t.origin == never {
		t.origin = 0
	}
	for place, leaf := range t.leaves {
		t.lift(place, t.stamp(place, leaf.round))
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
	if round < t.origin || t.lift(place, t.stamp(place, round)).isFar() {
		t.rebuild()
	}
}

// lift carries the stamp of the leaf at place up as far as that makes a difference. It returns the first of all, or
// anything that is not far when that is still the same.
func (t *turns) lift(place int, s stamp) stamp {
	for _, level := range t.levels {
		node, child := &level[place>>2], place&3
		if node[child] == s {
			return 0
		}
		node[child] = s
		s = min(s, node[(child+1)&3], node[(child+2)&3], node[(child+3)&3])
		place >>= 2
	}
	if t.lead = int(s & places); s == none {
		t.lead = -1
	}
	return s
}
