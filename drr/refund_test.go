package drr

import (
	"math"
	"testing"
)

// TestRefund: what is given back lifts class and tenant to a quantum and the largest charge, each by its own
// credit, and what owes gets all of it.
func TestRefund(t *testing.T) {
	s := oneTenanted(func(tenant uint32) float64 { return float64(1 + tenant) })
	for i := range uint32(3) {
		s.Enqueue(0, Shared, &Entry{Seq: uint64(i), Raw: 100, Tenant: i})
	}
	tenant := func(i uint32) int64 { return s.classes[0].tenants.credit(&s.classes[0].flows[i].turn) }
	s.Charge(0, 2, 400)
	for i, c := range []struct {
		tenant          uint32
		tokens          int64
		class, ofTenant int64 // given
	}{
		{0, 1200, 1200, 1100},
		{0, 1200, 300, 0}, // the class is at 800 and may have 1100
		{1, 1200, 0, 1200},
		{1, 1200, 0, 900},
		{2, 300, 0, 300}, // it owes
		{7, 300, 0, 0},   // has nothing queued
	} {
		if class, of := s.Refund(0, c.tenant, c.tokens, 100); class != c.class || of != c.ofTenant {
			t.Errorf("refund %d gave %d to the class and %d to the tenant, want %d and %d", i, class, of, c.class, c.ofTenant)
		}
	}
	if s.Deficit(0) != 1100 || tenant(0) != 1100 || tenant(1) != 2100 || tenant(2) != -100 {
		t.Errorf("the class has %d, tenants %d, %d and %d", s.Deficit(0), tenant(0), tenant(1), tenant(2))
	}
	if class, of := s.Refund(0, 2, math.MaxInt64, limit); class != limit-100 || of != limit+3100 {
		t.Errorf("%d to the class and %d to the tenant of all there is", class, of)
	}
}
