package arbiter

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"fairlead/policy"
	"fairlead/wire"
)

// tenanted is a policy of one class with tenants.
func tenanted(quantum int64, weights map[string]float64) *policy.Policy {
	p := policy.Default()
	p.Root.Classes[0].Quantum, p.Root.Classes[0].Tenants, p.Root.Classes[0].TenantWeights = quantum, true, weights
	return p
}

// TestShareOfTenants: on every interval in which they stay backlogged tenants are
// served by their weights within the bound of the scheduler, and Jain's index
// says so.
func TestShareOfTenants(t *testing.T) {
	weights := map[string]float64{"t0": 4, "t1": 2, "default": 1}
	for _, slots := range []int{1, 4} {
		t.Run(fmt.Sprintf("%d slots", slots), func(t *testing.T) {
			const tenants, quantum, most, dispatches = 5, 1000, 3000, 4000
			rng := rand.New(rand.NewPCG(3, uint64(slots)))
			s := newPool(t, tenanted(quantum, weights))
			s.slots = slots
			asker := map[uint64]int{}
			refill := func(i int) {
				asker[s.last+1] = i
				s.request(wire.Request{Tenant: fmt.Sprintf("t%d", i), Input: uint32(1 + rng.IntN(most))})
			}
			quanta := [tenants]float64{4 * quantum, 2 * quantum, quantum, quantum, quantum}
			var served [tenants]float64
			var low, high [tenants][tenants]float64
			n := 0
			s.out = func(h *HandOut) {
				from := asker[h.Claim.ID]
				n++
				served[from] += float64(h.Cost)
				for i := range served {
					for j := range i {
						d := served[i]/quanta[i] - served[j]/quanta[j]
						low[i][j], high[i][j] = min(low[i][j], d), max(high[i][j], d)
					}
				}
				s.after(0, func() { refill(from) })
			}
			for i := range tenants {
				for range 10 + 4*slots {
					refill(i)
				}
			}
			s.join("w")
			s.run(func() bool { return n >= dispatches })
			for i := range served {
				for j := range i {
					if bound := 1 + most/quanta[i] + most/quanta[j]; high[i][j]-low[i][j] > bound {
						t.Errorf("tenants %d and %d: %.2f apart on some interval, want at most %.2f", i, j, high[i][j]-low[i][j], bound)
					}
				}
			}
			st := s.arb.Status(s.clock()).Classes[0]
			if st.Tenants != tenants || st.Jain < 0.95 || st.Jain > 1.0001 {
				t.Errorf("status: %d tenants, Jain's index %.3f; want %d and nearly 1", st.Tenants, st.Jain, tenants)
			}
		})
	}
}

// TestBurstOfTenant: however much one tenant asks for, a request of another waits
// for one turn of it, and no more.
func TestBurstOfTenant(t *testing.T) {
	waits := map[int]int{}
	for _, flood := range []int{10, 1000} {
		const quantum, cost = 1000, 500
		s := newPool(t, tenanted(quantum, nil))
		s.slots = 1
		served, before := 0, -1
		var calm uint64
		s.out = func(h *HandOut) {
			if h.Claim.ID == calm {
				before = served
			}
			served += int(h.Cost)
		}
		for range flood {
			s.request(wire.Request{Tenant: "flood", Input: cost})
		}
		s.join("w")
		calm = s.last + 1
		s.request(wire.Request{Tenant: "calm", Input: cost})
		s.run(func() bool { return before >= 0 })
		waits[flood] = before
		if bound := quantum + cost; before > bound {
			t.Errorf("behind %d requests of another tenant it waited for %d tokens, want at most %d", flood, before, bound)
		}
	}
	if waits[10] != waits[1000] {
		t.Errorf("tokens served before it, by the flood's size: %v; want no difference", waits)
	}
}

// TestManyTenants: a hundred thousand tenants are counted while they wait, and
// forgotten with their memory when they are done.
func TestManyTenants(t *testing.T) {
	const n = 100_000
	heap := func() int64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	a := New(Config{Policy: tenanted(1000, nil)})
	now := time.Unix(1_700_000_000, 0)
	a.Step(now, Recovered{})
	before := heap()
	for id := uint64(1); id <= n; id++ {
		a.Step(now, Arrived{ID: id, At: now, Request: wire.Request{Model: "m", Tenant: fmt.Sprintf("t%d", id), Input: 100, Rank: wire.AnyRank}})
	}
	if got := a.Status(now).Classes[0].Tenants; got != n {
		t.Fatalf("%d tenants, want %d", got, n)
	}
	each := float64(heap()-before) / n
	for id := uint64(1); id <= n; id++ {
		a.Step(now, Cancel{Token: id, ID: id})
		a.Step(now, VerdictStored{Seq: id, Verdict: wire.Verdict{ID: id}})
		a.Step(now, Ended{ID: id})
	}
	if err := a.checkTenants(); err != nil || len(a.tenants.known) != 1 {
		t.Errorf("%d tenants are known, %v", len(a.tenants.known), err)
	}
	left := float64(heap()-before) / n
	t.Logf("%.0f bytes for each tenant with its request, %.0f of them left behind", each, left)
	if each > 1500 || left > 300 {
		t.Errorf("%.0f bytes for each of %d tenants, and %.0f left; want at most 1500 and 300", each, n, left)
	}
	runtime.KeepAlive(a)
}
