package arbiter

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"fairlead/wire"
)

// TestShareOfTrueCost: two classes of equal quanta whose answers differ in length,
// and whose prompts are cached to different parts than was foretold, share what
// their requests really take. On every interval the charged tokens keep to the
// scheduler's bound, M being the largest charge and what may be corrected at once.
func TestShareOfTrueCost(t *testing.T) {
	for _, c := range []struct {
		weight   float64
		estimate bool
		low      float64 // share of the first class, at least
		high     float64
	}{
		{0, false, .25, .45}, // what is charged is not what it costs
		{1, false, .49, .51},
		{1, true, .49, .51},
		{3, true, .49, .51},
	} {
		t.Run(fmt.Sprintf("weight %v, estimate %t", c.weight, c.estimate), func(t *testing.T) {
			trueCost{t: t, weight: c.weight, estimate: c.estimate, low: c.low, high: c.high}.test()
		})
	}
}

type trueCost struct {
	t         *testing.T
	weight    float64
	estimate  bool
	low, high float64
}

func (c trueCost) test() {
	const quantum, slots, dispatches, prompt = 1000, 4, 6000, 2000
	longest := [2]int{100, 2000} // tokens of output
	rng := rand.New(rand.NewPCG(5, 5))
	p := twoClasses(quantum, quantum, 0)
	for i := range p.Root.Classes {
		p.Root.Classes[i].OutputWeight, p.Root.Classes[i].EstimateOutput = c.weight, c.estimate
	}
	s := newPool(c.t, p)
	s.slots = slots
	s.service = func(tokens int64) (time.Duration, time.Duration) {
		d := time.Duration(1+rng.Int64N(tokens+1)) * time.Millisecond
		return d / 2, d
	}
	index := map[string]int{"premium": 0, "regular": 1}
	refill := func(i int) { s.ask(p.Root.Classes[i].Name, 1+rng.Int64N(prompt)) }
	var charged, really, most [2]float64
	low, high, n := 0.0, 0.0, 0
	count := func(i int, tokens float64) {
		charged[i] += tokens
		d := (charged[0] - charged[1]) / quantum
		low, high = min(low, d), max(high, d)
	}
	s.out = func(h *HandOut) {
		i := index[h.Claim.Class]
		n++
		most[i] = max(most[i], float64(h.Cost))
		count(i, float64(h.Cost))
		s.after(0, func() { refill(i) })
	}
	s.usage = func(h *HandOut) wire.Usage {
		i := index[h.Claim.Class]
		u := wire.Usage{Prompt: int64(h.Claim.Input), Cached: rng.Int64N(int64(h.Claim.Input)), Output: rng.Int64N(int64(longest[i]))}
		cost := float64(u.Prompt-u.Cached) + c.weight*float64(u.Output)
		most[i] = max(most[i], cost)
		if c.weight > 0 {
			count(i, cost-float64(h.Cost))
		}
		really[i] += float64(u.Prompt-u.Cached) + max(c.weight, 1)*float64(u.Output)
		return u
	}
	for i := range 2 {
		for range 60 {
			refill(i)
		}
	}
	s.join("w")
	s.run(func() bool { return n >= dispatches })
	share := really[0] / (really[0] + really[1])
	if share < c.low || share > c.high {
		c.t.Errorf("the first class had %.3f of what was really used, want %v to %v", share, c.low, c.high)
	}
	if bound := 1 + (1+slots)*(most[0]+most[1])/quantum; high-low > bound {
		c.t.Errorf("on some interval the charges are %.2f apart, want at most %.2f", high-low, bound)
	}
	st := s.arb.Status(s.clock()).Classes
	if c.weight > 0 && (st[0].Share < .48 || st[0].Share > .52) {
		c.t.Errorf("the status tells a share of %.3f", st[0].Share)
	}
	c.t.Logf("share %.4f, charges apart by %.2f, as told %.4f", share, high-low, st[0].Share)
}
