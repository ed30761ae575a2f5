package drr

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func enqueue(s *Scheduler, class int, t Target, seq uint64, cost uint32) *Entry {
	e := &Entry{Seq: seq, Arrival: int64(seq), Raw: cost}
	s.Enqueue(class, t, e)
	return e
}

func closed(int, Target, *Entry) Answer { return Shut }

func TestQuantumIsPerVisit(t *testing.T) {
	s := must([]Class{{Name: "a", Quantum: 10}, {Name: "b", Quantum: 10}})
	for seq := range uint64(5) {
		enqueue(s, 0, Shared, seq, 3)
	}
	enqueue(s, 1, Shared, 9, 3)
	for _, want := range []int64{7, 4, 1} {
		if e := s.Next(open); e.Class() != 0 || s.Deficit(0) != want {
			t.Fatalf("dispatched class %d and left %d, want class 0 and %d", e.Class(), s.Deficit(0), want)
		}
	}
	if e := s.Next(open); e.Class() != 1 {
		t.Errorf("class %d after the burst, want the cursor to move on to 1", e.Class())
	}
}

func TestFastForward(t *testing.T) {
	for _, row := range []struct {
		names    [2]string
		standard int64
	}{{[2]string{"standard", "latency"}, 5000}, {[2]string{"latency", "standard"}, 4000}} {
		classes := []Class{{Name: row.names[0]}, {Name: row.names[1]}}
		var standard, latency int
		for i, name := range row.names {
			if classes[i].Quantum = 1000; name == "latency" {
				classes[i].Quantum, latency = 2000, i
			} else {
				standard = i
			}
		}
		s := must(classes)
		enqueue(s, standard, Shared, 1, 7000)
		enqueue(s, latency, Shared, 2, 9000)
		enqueue(s, latency, Shared, 3, 9000)
		if e := s.Next(open); e.Seq != 2 || s.Deficit(latency) != 1000 || s.Deficit(standard) != row.standard {
			t.Errorf("%v: dispatched %d, latency keeps %d, standard has %d; want 2, 1000, %d",
				row.names, e.Seq, s.Deficit(latency), s.Deficit(standard), row.standard)
		}
	}
}

func TestBlockedRingEarnsNothing(t *testing.T) {
	s := must([]Class{{Name: "a", Quantum: 10}, {Name: "b", Quantum: 10}})
	for seq := range uint64(8) {
		enqueue(s, int(seq)%2, Shared, seq, 15)
	}
	for range 3 {
		s.Next(open)
	}
	before := s.Snapshot()
	for range 10_000 {
		s.RecheckAll()
		if e := s.Next(closed); e != nil {
			t.Fatalf("dispatched %d through a closed gate", e.Seq)
		}
	}
	if diff := cmp.Diff(before, s.Snapshot()); diff != "" {
		t.Errorf("a blocked ring changed (-before +after):\n%s", diff)
	}
}

func TestHugeCostInOneCall(t *testing.T) {
	s := must([]Class{{Name: "a", Quantum: 1}})
	enqueue(s, 0, Shared, 1, 1_000_000)
	enqueue(s, 0, Shared, 2, math.MaxUint32)
	for want := uint64(1); want <= 2; want++ {
		if e := s.Next(open); e == nil || e.Seq != want {
			t.Fatalf("got %v, want entry %d", e, want)
		}
	}
}

func TestArithmeticSaturates(t *testing.T) {
	s := must([]Class{{Name: "a", Quantum: math.MaxInt64}, {Name: "b", Quantum: 1}})
	for seq := range uint64(4) {
		enqueue(s, int(seq)%2, Shared, seq, math.MaxUint32)
	}
	for range 3 {
		s.Charge(0, 0, math.MinInt64)
		s.Charge(1, 0, math.MaxInt64)
	}
	if a, b := s.Deficit(0), s.Deficit(1); a != limit || b != -limit {
		t.Errorf("deficits %d and %d, want ±%d", a, b, int64(limit))
	}
	for range 4 {
		if s.Next(open) == nil {
			t.Fatal("nothing dispatched")
		}
	}
}

func TestChargeOfAnIdleClassIsVoid(t *testing.T) {
	for _, row := range []struct {
		queued bool
		want   int64
	}{{true, 30}, {false, 0}} {
		s := must([]Class{{Name: "a", Quantum: 100}, {Name: "b", Quantum: 100}})
		e := enqueue(s, 0, Shared, 1, 30)
		enqueue(s, 1, Shared, 2, 30)
		s.Next(open)
		if row.queued {
			s.Enqueue(0, Shared, e)
		}
		s.Charge(0, 0, -e.Cost())
		if !row.queued {
			s.Enqueue(0, Shared, e)
		}
		if got := s.Deficit(0); got != row.want {
			t.Errorf("queued when it was refunded %v: deficit %d, want %d", row.queued, got, row.want)
		}
	}
}

func TestEachHeadIsTestedOnce(t *testing.T) {
	const lanes = 10_000
	s := oneClass()
	for w := range int32(lanes) {
		enqueue(s, 0, Target{Worker: w}, uint64(w), 5)
	}
	tested := make([]int, lanes)
	odd := func(_ int, t Target, _ *Entry) Answer { tested[t.Worker]++; return when(t.Worker%2 == 1) }
	for want := uint64(1); want < lanes; want += 2 {
		if e := s.Next(odd); e == nil || e.Seq != want {
			t.Fatalf("got %v, want entry %d", e, want)
		}
	}
	for range 3 {
		if e := s.Next(odd); e != nil {
			t.Fatalf("entry %d passed a closed gate", e.Seq)
		}
	}
	s.Recheck(4)
	s.Next(odd)
	for w, n := range tested {
		if want := 1; n != want && w != 4 || w == 4 && n != 2 {
			t.Fatalf("head of lane %d was tested %d times", w, n)
		}
	}
	clear(tested)
	s.RecheckAll()
	s.Next(odd)
	s.Next(odd)
	for w, n := range tested {
		if want := 1 - w%2; n != want {
			t.Fatalf("head of lane %d was tested %d times after one recheck of all", w, n)
		}
	}
	if s.Len() != lanes/2 {
		t.Errorf("%d left, want the blocked half", s.Len())
	}
}

func TestBlockingIsLaneLocal(t *testing.T) {
	s := oneClass()
	pinned := Target{Worker: 3, Rank: 1}
	enqueue(s, 0, Shared, 1, 5)
	enqueue(s, 0, Shared, 2, 5)
	enqueue(s, 0, pinned, 3, 5)
	onlyPinned := func(_ int, t Target, _ *Entry) Answer { return when(t == pinned) }
	if e := s.Next(onlyPinned); e.Seq != 3 {
		t.Errorf("dispatched %d, want the pinned one", e.Seq)
	}
	// A new head of a blocked lane is a question of its own.
	enqueue(s, 0, Shared, 0, 5)
	if e := s.Next(open); e == nil || e.Seq != 0 {
		t.Errorf("dispatched %v, want the new head", e)
	}
}

// TestAgeing checks the promise: nobody who arrives later than arrival + k·cost/rate goes first.
func TestAgeing(t *testing.T) {
	const k, rate = 20.0, 5000.0
	for seed := range uint64(50) {
		rng := rand.New(rand.NewPCG(seed, 3))
		s := must([]Class{{Name: "aged", Quantum: 100, Order: WSPT, Aging: k, Rate: rate}})
		now, waiting := int64(1_700_000_000e9), map[uint64]*Entry{}
		for seq := uint64(1); seq < 1500; seq++ {
			now += rng.Int64N(4e9)
			waiting[seq] = &Entry{Seq: seq, Arrival: now, Raw: 1 + rng.Uint32N(20_000), Strict: rng.Uint32N(2),
				Jump: float64(rng.IntN(3))}
			s.Enqueue(0, Shared, waiting[seq])
			if seq < 100 || rng.IntN(8) == 0 {
				continue
			}
			first := s.Next(open)
			delete(waiting, first.Seq)
			for _, e := range waiting {
				promise := e.Arrival + int64(math.Ceil(k*float64(e.Cost())/rate*1e9))
				if first.Strict <= e.Strict && first.Arrival > promise {
					t.Fatalf("seed %d: %d, which arrived at %d, overtook %d, promised %d",
						seed, first.Seq, first.Arrival, e.Seq, promise)
				}
			}
		}
	}
}

// TestWorkConservation: on one server the sum of size × waiting time is the same whatever the order.
func TestWorkConservation(t *testing.T) {
	var sums []float64
	for _, c := range []Class{{Order: FCFS}, {Order: WSPT}, {Order: EDF}, {Order: WSPT, Aging: 5, Rate: 100}} {
		rng := rand.New(rand.NewPCG(4, 4))
		a, b := c, c
		a.Name, a.Quantum, b.Name, b.Quantum = "a", 300, "b", 100
		s := must([]Class{a, b})
		arrivals := make([]Entry, 5000)
		at := int64(0)
		for i := range arrivals {
			at += rng.Int64N(260)
			arrivals[i] = Entry{Seq: uint64(i), Arrival: at, Raw: 1 + rng.Uint32N(240), Deadline: 1 + rng.Int64N(1e6)}
		}
		sums = append(sums, weightedWait(s, arrivals))
	}
	for _, sum := range sums[1:] {
		if math.Abs(sum/sums[0]-1) > 1e-9 {
			t.Errorf("Σ size × wait differs between orders: %v", sums)
		}
	}
}

func weightedWait(s *Scheduler, arrivals []Entry) float64 {
	now, sum := int64(0), 0.0
	for i := 0; i < len(arrivals) || s.Len() > 0; {
		if s.Len() == 0 {
			now = max(now, arrivals[i].Arrival)
		}
		for ; i < len(arrivals) && arrivals[i].Arrival <= now; i++ {
			s.Enqueue(i%2, Shared, &arrivals[i])
		}
		e := s.Next(open)
		sum += float64(e.Cost()) * float64(now-e.Arrival)
		now += e.Cost()
	}
	return sum
}
