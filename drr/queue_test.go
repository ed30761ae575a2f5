package drr

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestQueueEqualsSorting removes from anywhere, far more than the rig does, and checks order and memory.
func TestQueueEqualsSorting(t *testing.T) {
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 5))
		var q queue[*Entry]
		var waiting []*Entry
		seq, scatter := uint64(0), rng.IntN(3)*200+1
		for range 4000 {
			switch op := rng.IntN(10); {
			case op < 5:
				seq++
				e := &Entry{Seq: seq, Arrival: int64(seq) + int64(rng.IntN(scatter))}
				q.push(node[*Entry]{key: keyOf(&Class{}, e), ref: e}, 1)
				waiting = append(waiting, e)
			case op < 7 && len(waiting) > 0:
				want := slices.MinFunc(waiting, earlier)
				if got := q.top().ref; got != want {
					t.Fatalf("seed %d: first is %d, want %d", seed, got.Seq, want.Seq)
				}
				got := q.pop()
				waiting = slices.DeleteFunc(waiting, func(e *Entry) bool { return e == got })
			case len(waiting) > 0:
				i := rng.IntN(len(waiting))
				e := waiting[i]
				e.gen++
				waiting = slices.Delete(waiting, i, i+1)
				q.remove(keyOf(&Class{}, e), e)
			}
			if int(q.live) != len(waiting) || q.dead() > len(waiting)+slack {
				t.Fatalf("seed %d: %d live and %d dead nodes for %d entries", seed, q.live, q.dead(), len(waiting))
			}
		}
	}
}

func earlier(a, b *Entry) int {
	if a.Arrival != b.Arrival {
		return int(a.Arrival - b.Arrival)
	}
	return int(a.Seq) - int(b.Seq)
}

// TestQueueGivesMemoryBack: after a burst the run shrinks although it never empties.
func TestQueueGivesMemoryBack(t *testing.T) {
	var q queue[*Entry]
	push := func(i int) {
		e := &Entry{Seq: uint64(i), Arrival: int64(i)}
		q.push(node[*Entry]{key: keyOf(&Class{}, e), ref: e}, 1)
	}
	for i := range 100_000 {
		push(i)
	}
	for i := range 200_000 {
		if q.pop(); q.live < 10 {
			push(100_000 + i)
		}
	}
	if q.live != 9 && q.live != 10 || cap(q.run) > 1000 {
		t.Errorf("%d entries keep room for %d", q.live, cap(q.run))
	}
}

// TestCancelledFromTheEnd: of many that came in order, all but the first few leave, the last one first.
func TestCancelledFromTheEnd(t *testing.T) {
	const n, stay = 500, 3
	s := oneClass()
	entries := make([]Entry, n)
	for i := range entries {
		entries[i] = Entry{Seq: uint64(i), Arrival: int64(i), Raw: 1}
		s.Enqueue(0, Shared, &entries[i])
	}
	for i := n - 1; i >= stay; i-- {
		s.Remove(&entries[i])
	}
	for want := range uint64(stay) {
		if e := s.Next(open); e == nil || e.Seq != want {
			t.Fatalf("got %v, want entry %d", e, want)
		}
	}
	if s.Len() != 0 {
		t.Errorf("%d entries left", s.Len())
	}
}
