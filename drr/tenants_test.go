package drr

import (
	"math"
	"math/rand/v2"
	"runtime"
	"testing"
)

func oneTenanted(weight func(uint32) float64) *Scheduler {
	return must([]Class{{Name: "only", Quantum: 1000, Tenants: true, Weight: weight}})
}

// TestBurst: the wait of a tenant does not depend on how deep the queue of another one is, and stays in the bound.
func TestBurst(t *testing.T) {
	const rounds, cost = 20, 700
	last := map[int]int{} // tokens served when the quiet tenant is done, by burst
	for _, burst := range []int{5, 50} {
		s := oneTenanted(nil)
		seq := uint64(0)
		put := func(tenant uint32, n int) {
			for range n {
				seq++
				s.Enqueue(0, Shared, &Entry{Seq: seq, Arrival: int64(seq), Raw: cost, Tenant: tenant})
			}
		}
		put(0, burst*rounds)
		put(1, rounds)
		waited := 0 // tokens of others while the head of tenant 1 waits
		for left := rounds; left > 0; {
			e := s.Next(open)
			last[burst] += cost
			if e.Tenant == 0 {
				if waited += cost; waited > 1000+cost {
					t.Fatalf("burst %d: the head waited for %d tokens, bound %d", burst, waited, 1000+cost)
				}
				continue
			}
			left, waited = left-1, 0
		}
	}
	if last[5] != last[50] {
		t.Errorf("the quiet tenant is done after %d tokens beside a burst of 5, after %d beside one of 50", last[5], last[50])
	}
	if most := 2*rounds*cost + 1000 + cost; last[5] > most {
		t.Errorf("the quiet tenant is done after %d tokens, bound %d", last[5], most)
	}
}

// TestTrueUp: classes of equal quanta share what was really used, not the input alone. The output is known when a
// request ends; an estimate may be charged before.
func TestTrueUp(t *testing.T) {
	for _, row := range []struct {
		name              string
		charge, estimated bool
		low, high         float64
	}{
		{"input only", false, false, .36, .40},
		{"output charged", true, false, .498, .502},
		{"output estimated and corrected", true, true, .498, .502},
	} {
		s := must([]Class{{Name: "short answers", Quantum: 2048}, {Name: "long answers", Quantum: 2048}})
		rng := rand.New(rand.NewPCG(1, 2))
		output := [2]int64{28, 1290} // mean tokens
		used, running, seq := [2]float64{}, [][2]int64{}, uint64(0)
		put := func(class int) {
			seq++
			s.Enqueue(class, Shared, &Entry{Seq: seq, Arrival: int64(seq), Raw: 1 + rng.Uint32N(4000)})
		}
		for class := range 2 {
			if row.estimated {
				s.SetSurcharge(class, output[class]*9/10)
			}
			put(class)
			put(class)
		}
		for range 100_000 {
			e := s.Next(open)
			class := e.Class()
			put(class)
			tokens := rng.Int64N(2*output[class] + 1)
			used[class] += float64(e.Cost() + tokens)
			running = append(running, [2]int64{int64(class), e.Cost() + tokens - s.Charged()})
			if ends := running[0]; len(running) == 8 {
				running = running[1:]
				if row.charge {
					s.Charge(int(ends[0]), 0, ends[1])
				}
			}
		}
		if share := used[0] / (used[0] + used[1]); share < row.low || share > row.high {
			t.Errorf("%s: short answers had %.4f of the tokens, want %v to %v", row.name, share, row.low, row.high)
		}
	}
}

// TestNoHistory: who is emptied loses credit and debt, and a correction that comes too late is void.
func TestNoHistory(t *testing.T) {
	s := oneTenanted(nil)
	tenant := func(i uint32) int64 { return s.classes[0].tenants.credit(&s.classes[0].flows[i].turn) }
	put := func(seq uint64, i uint32) *Entry {
		e := &Entry{Seq: seq, Raw: 100, Tenant: i}
		s.Enqueue(0, Shared, e)
		return e
	}
	put(1, 0)
	e := put(2, 1)
	s.Charge(0, 1, 5000)
	s.Charge(0, 2, 300)
	if tenant(1) != -5000 || s.Deficit(0) != -5300 {
		t.Errorf("tenant owes %d, class %d, want 5000 and 5300", -tenant(1), -s.Deficit(0))
	}
	s.Remove(e)
	s.Charge(0, 1, 40)
	if put(3, 1); tenant(1) != 0 || s.Deficit(0) != -5340 {
		t.Errorf("the tenant that returned owes %d, the class %d, want 0 and 5340", -tenant(1), -s.Deficit(0))
	}
	drain(s)
	s.Charge(0, 0, 1e6)
	if put(4, 0); tenant(0) != 0 || s.Deficit(0) != 0 {
		t.Errorf("deficits %d and %d after all was idle, want none", tenant(0), s.Deficit(0))
	}
}

func TestWeights(t *testing.T) {
	weights := []float64{1, 2.5, math.NaN(), -3, 0, math.Inf(1), 1e-9, .5}
	want := []int64{1000, 2500, 1, 1, 1, limit, 1, 500}
	s := oneTenanted(func(tenant uint32) float64 { return weights[tenant] })
	for i := range weights {
		s.Enqueue(0, Shared, &Entry{Seq: uint64(i), Raw: 1, Tenant: uint32(i)})
		if got := s.classes[0].flows[i].turn.quantum; got != want[i] {
			t.Errorf("weight %v: quantum %d, want %d", weights[i], got, want[i])
		}
	}
	drain(s)
	if s.Len() != 0 {
		t.Errorf("%d entries were never dispatched", s.Len())
	}
}

func heapInUse() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// TestIdleTenantsAreForgotten: 100,000 tenants take a bounded memory each, and nothing when they are gone.
func TestIdleTenantsAreForgotten(t *testing.T) {
	const tenants = 100_000
	s := must([]Class{{Name: "tenants", Quantum: 1000, Tenants: true}, {Name: "other", Quantum: 1000}})
	entries := make([]Entry, 2*tenants)
	before := heapInUse()
	for i := range entries {
		target := Shared
		if i >= tenants && i%4 == 0 {
			target = Target{Worker: int32(i % 50)}
		}
		entries[i] = Entry{Seq: uint64(i), Raw: 1 + uint32(i)%5000, Tenant: uint32(i % tenants)}
		s.Enqueue(0, target, &entries[i])
	}
	full := heapInUse() - before
	drain(s)
	left := heapInUse() - before
	t.Logf("%d bytes for each tenant, %d in all when they are gone", full/tenants, left)
	if full > 800*tenants || left > full/20 {
		t.Errorf("%d bytes for each tenant, want at most 800; %d are left of %d", full/tenants, left, full)
	}
	runtime.KeepAlive(s)
	runtime.KeepAlive(entries)
}

// TestGateCalls: when one answer holds for all shared lanes of a class, a dispatch takes one question, and one more
// finds out that the slots are full, however many tenants wait.
func TestGateCalls(t *testing.T) {
	const tenants, slots = 10_000, 4
	for _, row := range []struct {
		full  Answer
		calls int // of the gate in a round of as many dispatches as there are slots
	}{{AllShut, slots + 1}, {Shut, slots + tenants}} {
		s := oneTenanted(nil)
		calls, free := 0, 0
		gate := func(int, Target, *Entry) Answer {
			if calls++; free > 0 {
				return Open
			}
			return row.full
		}
		seq := uint64(0)
		put := func(e *Entry) {
			seq++
			e.Seq, e.Arrival, e.Raw = seq, int64(seq), 1+uint32(seq*7919%3000)
			s.Enqueue(0, Shared, e)
		}
		for i := range uint32(tenants) {
			put(&Entry{Tenant: i})
			put(&Entry{Tenant: i})
		}
		for range 3 {
			calls, free = 0, slots
			s.Recheck(0)
			for e := s.Next(gate); e != nil; e = s.Next(gate) {
				free--
				put(e)
			}
			for range 5 {
				s.Next(gate)
			}
			if calls != row.calls || free != 0 {
				t.Errorf("answer %d: %d calls, want %d; %d slots left", row.full, calls, row.calls, free)
			}
		}
	}
}

// TestPinnedAmongClosed: a class whose shared lanes are all blocked still serves exact ones.
func TestPinnedAmongClosed(t *testing.T) {
	s := oneTenanted(nil)
	s.Enqueue(0, Shared, &Entry{Seq: 1, Raw: 10, Tenant: 1})
	s.Enqueue(0, Shared, &Entry{Seq: 2, Raw: 10, Tenant: 2})
	s.Enqueue(0, Target{Worker: 3}, &Entry{Seq: 3, Raw: 10, Tenant: 2})
	asked := 0
	gate := func(_ int, t Target, _ *Entry) Answer {
		if asked++; t == Shared {
			return AllShut
		}
		return Open
	}
	if e := s.Next(gate); e == nil || e.Seq != 3 || asked != 2 {
		t.Errorf("dispatched %v after %d questions, want the pinned one after 2", e, asked)
	}
	s.Enqueue(0, Shared, &Entry{Seq: 0, Raw: 10, Tenant: 2})
	if e := s.Next(gate); e != nil || asked != 2 {
		t.Errorf("dispatched %v after %d questions, want none before a recheck", e, asked)
	}
	s.RecheckAll()
	if e := s.Next(open); e == nil || s.Len() != 2 {
		t.Error("nothing was dispatched after the recheck")
	}
}

// TestRoundsStartAgain: debts that take 2⁶⁰ rounds to work off neither overflow nor change whose turn it is.
func TestRoundsStartAgain(t *testing.T) {
	s := must([]Class{{Name: "a", Quantum: 1}, {Name: "b", Quantum: 1}, {Name: "blocked", Quantum: 1}, {Name: "c", Quantum: 1}})
	gate := func(class int, _ Target, _ *Entry) Answer { return when(class != 2) }
	for i := range uint64(400) {
		enqueue(s, int(i%4), Shared, i, 2)
	}
	again := 0
	for i := range 90 {
		if i%3 == 0 {
			for class := range 4 {
				s.Charge(class, 0, math.MaxInt64)
			}
			s.Charge(3, 0, math.MinInt64) // and this one far ahead
			s.Charge(3, 0, math.MaxInt64)
		}
		before := s.ring.round
		e := s.Next(gate)
		if want := []int{0, 1, 3}[i%3]; e.Class() != want || s.ring.round < 0 || s.ring.round > farRound {
			t.Fatalf("dispatch %d went to class %d in round %d, want class %d", i, e.Class(), s.ring.round, want)
		}
		if s.ring.round < before {
			again++
		}
	}
	if again < 5 || s.Deficit(2) != -limit {
		t.Errorf("rounds started again %d times; the blocked class has %d, want %d", again, s.Deficit(2), int64(-limit))
	}
}

// TestTakeOverForgetsTenants: a successor knows the credit of classes, and starts the tenants afresh.
func TestTakeOverForgetsTenants(t *testing.T) {
	s, successor := oneTenanted(nil), oneTenanted(nil)
	for i := range uint64(6) {
		s.Enqueue(0, Shared, &Entry{Seq: i, Raw: 300, Tenant: uint32(i % 2)})
		successor.Enqueue(0, Shared, &Entry{Seq: i, Raw: 300, Tenant: uint32(i % 2)})
	}
	s.Next(open)
	s.Next(open)
	successor.Restore(s.Snapshot())
	if got, want := successor.Deficit(0), s.Deficit(0); got != want || want == 0 {
		t.Errorf("the successor gives the class %d, want %d and not 0", got, want)
	}
	if f := successor.classes[0].flows[0]; f.turn.deficit != 0 {
		t.Errorf("the successor gives a tenant %d", f.turn.deficit)
	}
}
