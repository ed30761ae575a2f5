package drr

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"testing"
)

func oneTenanted(weight func(uint32) float64) *Scheduler {
	return must([]Class{{Name: "only", Quantum: 1000, Tenants: true, Weight: weight}})
}

// crowd keeps every tenant of every class at two requests, and charges each for its output when it ends.
type crowd struct {
	server
	rng     *rand.Rand
	classes []Class
	tenants int
	seq     uint64
	served  [][]float64 // tokens charged, by class and tenant
	ended   []usage     // requests whose charge is to be corrected
	largest float64     // tokens charged at once
	debt    float64     // tokens, the deepest
}

type usage struct {
	class  int
	tenant uint32
	tokens int64 // signed
}

func newCrowd(seed uint64, slots int) *crowd {
	w := &crowd{rng: rand.New(rand.NewPCG(seed, 9)), tenants: 5}
	w.slots = slots
	for i := range 3 {
		c := Class{Name: fmt.Sprint(i), Quantum: 200 + w.rng.Int64N(2000), Tenants: true}
		if i > 0 {
			c.Weight = func(tenant uint32) float64 { return 1 + float64(tenant%3)*float64(i) }
		}
		w.classes = append(w.classes, c)
		w.served = append(w.served, make([]float64, w.tenants))
	}
	w.s = must(w.classes)
	for class := range w.classes {
		w.s.SetSurcharge(class, int64(class)*50)
		for i := range 2 * w.tenants {
			w.put(class, &Entry{Tenant: uint32(i / 2)})
		}
	}
	return w
}

func (w *crowd) put(class int, e *Entry) {
	w.seq++
	e.Seq, e.Arrival, e.Raw = w.seq, int64(w.seq), 1+w.rng.Uint32N(1+w.rng.Uint32N(6000))
	w.s.Enqueue(class, Shared, e)
}

// op dispatches a request, and corrects what the one of some time ago was charged.
func (w *crowd) op() {
	e := w.next()
	class, tenant, charged := e.Class(), e.Tenant, w.s.Charged()
	w.count(class, tenant, charged)
	w.put(class, e)
	w.ended = append(w.ended, usage{class, tenant, w.rng.Int64N(charged) - charged/4})
	if len(w.ended) > 6 {
		u := w.ended[0]
		w.ended = w.ended[1:]
		w.s.Charge(u.class, u.tenant, u.tokens)
		w.count(u.class, u.tenant, u.tokens)
	}
}

// count takes note of a charge, and of how deep the deficits are.
func (w *crowd) count(class int, tenant uint32, tokens int64) {
	w.served[class][tenant] += float64(tokens)
	w.largest = max(w.largest, float64(tokens))
	w.debt = max(w.debt, -float64(w.s.Deficit(class)))
	if c := &w.s.classes[class]; c.flow(tenant) != nil {
		w.debt = max(w.debt, -float64(c.tenants.credit(&c.flow(tenant).turn)))
	}
}

// quantum returns that of a tenant.
func (w *crowd) quantum(class, tenant int) float64 {
	return float64(w.classes[class].share(uint32(tenant)))
}

// TestShareWithTenants checks the bound on every interval, at both levels, with the tokens charged in the end.
func TestShareWithTenants(t *testing.T) {
	for seed := range uint64(8) {
		w := newCrowd(seed, []int{0, 4}[seed%2])
		classes := make([]band, 3*3)
		tenants := make([]band, 3*w.tenants*w.tenants)
		for range 20_000 {
			w.op()
			for i := range w.classes {
				for j := range i {
					classes[i*3+j].include(w.total(i)/float64(w.classes[i].Quantum) - w.total(j)/float64(w.classes[j].Quantum))
				}
				for a := range w.tenants {
					for b := range a {
						tenants[(i*w.tenants+a)*w.tenants+b].include(w.served[i][a]/w.quantum(i, a) - w.served[i][b]/w.quantum(i, b))
					}
				}
			}
		}
		slack := w.largest + w.debt
		for i := range w.classes {
			for j := range i {
				bound := 1 + slack/float64(w.classes[i].Quantum) + slack/float64(w.classes[j].Quantum)
				if b := classes[i*3+j]; b.high-b.low > bound {
					t.Errorf("seed %d: classes %d and %d drifted %.1f rounds apart, bound %.1f", seed, i, j, b.high-b.low, bound)
				}
			}
			for a := range w.tenants {
				for other := range a {
					bound := 1 + slack/w.quantum(i, a) + slack/w.quantum(i, other)
					if b := tenants[(i*w.tenants+a)*w.tenants+other]; b.high-b.low > bound {
						t.Errorf("seed %d: tenants %d and %d of class %d drifted %.1f rounds apart, bound %.1f",
							seed, a, other, i, b.high-b.low, bound)
					}
				}
			}
		}
	}
}

func (w *crowd) total(class int) (sum float64) {
	for _, tokens := range w.served[class] {
		sum += tokens
	}
	return sum
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
