package drr

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

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
