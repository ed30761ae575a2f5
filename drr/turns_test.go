package drr

import (
	"math/rand/v2"
	"testing"
)

// TestTurnsEqualScanning compares the tree with a look at every leaf, while rings grow, empty and start to count again,
// with rounds that are near, and so far away that their stamps do not tell them apart.
func TestTurnsEqualScanning(t *testing.T) {
	for seed := range uint64(30) {
		rng := rand.New(rand.NewPCG(seed, 6))
		var q turns
		for step := range 1000 {
			if step == 0 || rng.IntN(100) == 0 {
				q.grow(1 + rng.IntN(1+step))
			}
			place, round := rng.IntN(len(q.leaves)), int64(rng.IntN(9))
			switch now := int64(step) / 250 * far; rng.IntN(4) {
			case 0:
				round = never
			case 1:
				round = rng.Int64N(1 << 61)
			case 2:
				round += now
			}
			q.set(place, round, int64(step))
			if q.leaves[place].round != round || q.leaves[place].cost != int64(step) {
				t.Fatalf("seed %d: leaf %d is %v, want round %d and cost %d", seed, place, q.leaves[place], round, step)
			}
			if want := firstByScan(&q); q.lead != want {
				t.Fatalf("seed %d, step %d: place %d of %d is first, want %d", seed, step, q.lead, len(q.leaves), want)
			}
		}
		q.rebuild()
		if want := firstByScan(&q); q.lead != want {
			t.Fatalf("seed %d: place %d is first after rebuilding, want %d", seed, q.lead, want)
		}
	}
}

func firstByScan(q *turns) int {
	first := -1
	for i, leaf := range q.leaves {
		if leaf.round != never && (first < 0 || leaf.round < q.leaves[first].round) {
			first = i
		}
	}
	return first
}
