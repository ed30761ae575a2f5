package drr

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// newSteadyTenants is newSteady with tenants, each of n entries in every class.
func newSteadyTenants(classes, tenants, n int) *steady {
	list := make([]Class, classes)
	for i := range list {
		list[i] = Class{Name: fmt.Sprint("c", i), Quantum: 1024 * int64(1+i%8), Tenants: true}
	}
	st := &steady{s: must(list), rng: 42, tenants: uint64(tenants)}
	st.fill(classes, n*tenants)
	return st
}

// churn is op with an entry that comes back for another tenant, so that one goes and one comes.
func (st *steady) churn() {
	e := st.s.Next(open)
	e.Tenant = uint32(st.rng.next() % (2 * st.tenants))
	st.put(e.Class(), e)
}

// pinned is churn in exact lanes.
func (st *steady) pinned() {
	e := st.s.Next(open)
	st.seq++
	e.Seq, e.Arrival, e.Raw = st.seq, int64(st.seq), uint32(1+st.rng.next()&8191)
	e.Tenant = uint32(st.rng.next() % st.tenants)
	st.s.Enqueue(e.Class(), Target{Worker: int32(st.rng.next() % 16)}, e)
}

// BenchmarkSteadyTenants is BenchmarkSteady with the 10,000 entries of each of the 8 classes spread over tenants, and with
// 100,000 tenants that have one entry each.
func BenchmarkSteadyTenants(b *testing.B) {
	for _, tenants := range []int{1, 10, 100, 1000, 10_000, 100_000} {
		b.Run(fmt.Sprint("tenants=", tenants), func(b *testing.B) {
			st := newSteadyTenants(8, tenants, max(1, 10_000/tenants))
			b.ReportAllocs()
			for b.Loop() {
				st.op()
			}
		})
	}
}

// BenchmarkChurnTenants is an operation that empties a tenant and fills another.
func BenchmarkChurnTenants(b *testing.B) {
	for _, tenants := range []int{1000, 10_000} {
		b.Run(fmt.Sprint("tenants=", tenants), func(b *testing.B) {
			st := newSteadyTenants(8, tenants, 1)
			b.ReportAllocs()
			for b.Loop() {
				st.churn()
			}
		})
	}
}

// scattered is one class of 10,000 requests, of as many tenants or of a class without them. The entries lie in memory in
// no order, as those of real requests do: in a row, the hardware would guess the next one of a single lane.
func scattered(tenants int) *steady {
	st := &steady{s: must([]Class{{Name: "only", Quantum: 1024, Tenants: tenants > 0}}), rng: 42, tenants: uint64(tenants)}
	entries := make([]Entry, 10_000)
	for i, j := range rand.New(rand.NewPCG(7, 7)).Perm(len(entries)) {
		entries[j].Tenant = uint32(i % max(1, tenants))
		st.put(0, &entries[j])
	}
	for range 200_000 {
		st.op()
	}
	return st
}

// tenantsCost returns what an enqueue and pop takes with tenants, as a multiple of what it takes without: the median of
// many short turns of either, so that neither a busy machine nor a pause in one of them decides.
func tenantsCost(tenants, turns int) float64 {
	var took [2][]time.Duration
	cases := [2]*steady{scattered(0), scattered(tenants)}
	for range turns {
		for i, st := range cases {
			start := time.Now()
			for range 1000 {
				st.op()
			}
			took[i] = append(took[i], time.Since(start))
		}
	}
	slices.Sort(took[0])
	slices.Sort(took[1])
	return float64(took[1][turns/2]) / float64(took[0][turns/2])
}

// BenchmarkTenantsCost compares tenants with none in the same run; the figure to read is the ratio.
func BenchmarkTenantsCost(b *testing.B) {
	for _, tenants := range []int{1, 100, 1000, 10_000} {
		b.Run(fmt.Sprint("tenants=", tenants), func(b *testing.B) {
			for range b.N {
				b.ReportMetric(tenantsCost(tenants, 500), "ratio")
			}
		})
	}
}
