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
				q.push(node[*Entry]{key: keyOf(&Class{}, e), ref: e})
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
				waiting[i].gen++
				waiting = slices.Delete(waiting, i, i+1)
				q.removed()
			}
			if int(q.live) != len(waiting) || q.stale() > len(waiting)+slack {
				t.Fatalf("seed %d: %d live and %d stale nodes for %d entries", seed, q.live, q.stale(), len(waiting))
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
		q.push(node[*Entry]{key: keyOf(&Class{}, e), ref: e})
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

func TestBitset(t *testing.T) {
	b := newBitset(300)
	for _, i := range []int{3, 64, 290} {
		b.set(i)
	}
	b.set(5)
	b.unset(5)
	for from, want := range map[int]int{0: 3, 3: 3, 4: 64, 64: 64, 65: 290, 290: 290, 291: 320, 320: 320} {
		if got := b.next(from); got != want {
			t.Errorf("next(%d) is %d, want %d", from, got, want)
		}
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
