package drr

import (
	"fmt"
	"testing"
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
