package arbiter

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"fairlead/policy"
	"fairlead/wire"
)

// TestExplainedOrder: the position that an explanation tells is that in which the
// scheduler serves, under every order.
func TestExplainedOrder(t *testing.T) {
	for _, c := range []policy.Class{
		{Order: policy.FCFS}, {Order: policy.WSPT}, {Order: policy.EDF},
		{Order: policy.WSPT, Aging: 20, NominalTokensPerSecond: 1000},
	} {
		t.Run(fmt.Sprintf("%v, aging %v", c.Order, c.Aging), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(1, 1))
			p := policy.Default()
			k := &p.Root.Classes[0]
			k.NoWorkerGrace = time.Hour
			k.Order, k.Aging, k.NominalTokensPerSecond = c.Order, c.Aging, c.NominalTokensPerSecond
			s := newPool(t, p)
			s.slots = 1
			const n = 200
			for range n {
				s.now += time.Duration(rng.IntN(3)) * time.Second
				s.request(wire.Request{
					Input: uint32(1 + rng.IntN(50)), Priority: float64(rng.IntN(4)), Strict: uint32(rng.IntN(2)),
					TTL: time.Duration(rng.IntN(3)*(1+rng.IntN(9))) * time.Hour,
				})
			}
			want := map[uint64]int{}
			for id := uint64(1); id <= n; id++ {
				want[id] = s.arb.Explain(id).Position
			}
			served := 0
			s.out = func(h *HandOut) {
				served++
				if want[h.Claim.ID] != served {
					t.Fatalf("request %d is served as number %d; its position was %d", h.Claim.ID, served, want[h.Claim.ID])
				}
			}
			s.join("w")
			s.run(func() bool { return served == n })
		})
	}
}
