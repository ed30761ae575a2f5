//go:build !race

package drr

import (
	"math"
	"testing"
)

func TestSteadyStateAllocatesNothing(t *testing.T) {
	fcfs, wspt, lanes := newSteady(8, FCFS), newSteady(8, WSPT), newFleet()
	tenants, coming := newSteadyTenants(8, 1000, 10), newSteadyTenants(8, 100, 1)
	for range 200_000 {
		lanes.op()
		lanes.toggle()
	}
	for name, op := range map[string]func(){
		"fcfs": fcfs.op,
		"wspt": wspt.op,

		"tenants":                  tenants.op,
		"tenants that come and go": func() { coming.churn(); coming.pinned() },
		"lanes":                    func() { lanes.op(); lanes.toggle() },
	} {
		if n := testing.AllocsPerRun(50_000, op); n != 0 {
			t.Errorf("%s: %v allocations for each enqueue and pop", name, n)
		}
	}
}

// TestFirstLaneAllocatesNothing: an emptied lane is used again by the next worker.
func TestFirstLaneAllocatesNothing(t *testing.T) {
	s := oneClass()
	e, w := &Entry{Raw: 1}, int32(0)
	cycle := func() {
		w = (w + 1) % 1000
		s.Enqueue(0, Target{Worker: w}, e)
		s.Next(open)
	}
	for range 1000 {
		cycle()
	}
	if n := testing.AllocsPerRun(5000, cycle); n != 0 {
		t.Errorf("%v allocations for each lane that comes and goes", n)
	}
}

// TestTenantsCostLessThanTwice: dividing a class among 1,000 tenants does not double an enqueue and pop.
func TestTenantsCostLessThanTwice(t *testing.T) {
	least := math.Inf(1)
	for range 10 {
		if least = min(least, tenantsCost(1000, 500)); least < 2 {
			return
		}
	}
	t.Errorf("an enqueue and pop with 1,000 tenants takes %.2f times as long as without, want less than 2", least)
}
