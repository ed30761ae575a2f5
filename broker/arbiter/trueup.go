package arbiter

import (
	"math"

	"fairlead/wire"
)

// charge corrects what the class and the tenant of a request were charged for
// the attempt of a booking, by tokens of either sign; nil when there is none. What
// is given back lifts the credit of either no higher than its quantum and the largest
// charge, which is all that it may have by itself.
func (a *Arbiter) charge(r *request, b *booking, tokens int64) {
	c := r.cls
	ofTenant := tokens
	if tokens < 0 {
		back, backToTenant := c.ring.sched.Refund(c.index, r.Tenant, -tokens, max(c.largest, -tokens))
		tokens, ofTenant = -back, -backToTenant
	} else {
		c.ring.sched.Charge(c.index, r.Tenant, tokens)
	}
	if b != nil && b.shared {
		c.shared = max(0, c.shared+tokens)
	}
	a.feed(r, ofTenant)
}

// trueUp charges what a finished request really took, in place of what was known
// when it was handed out: output_weight tokens for each token of output, and the
// prompt as the engine counts it. What the engine does not report stays as it
// was. A recovery corrects nothing: its predecessor may have done so. It returns
// what was to be corrected, of which refunds may be bounded.
func (a *Arbiter) trueUp(r *request, u wire.Usage) int64 {
	c := r.cls
	silent := u.Prompt <= 0 && u.Output <= 0 // no prompt is empty
	if c.OutputWeight == 0 || a.found != nil || silent {
		return 0
	}
	output := bound(u.Output)
	extra := weighted(c.OutputWeight, float64(output))
	if u.Prompt > 0 && u.Cached >= 0 {
		extra += max(1, bound(u.Prompt)-bound(u.Cached)) - r.Cost()
	}
	if b := r.booking; b != nil {
		extra -= b.charged - r.Cost()
	} else { // given up for lost, paid back, and finished after all
		extra += r.Cost()
	}
	a.charge(r, r.booking, extra)
	c.output.add(float64(output))
	c.estimate()
	return extra
}

// bound keeps a count that an engine reports within what a request may have.
func bound(tokens int64) int64 { return min(max(tokens, 0), wire.MaxTokens) }

func weighted(weight, tokens float64) int64 { return int64(math.Round(weight * tokens)) }

// estimate has the scheduler charge the output that is to be expected.
func (c *class) estimate() { c.ring.sched.SetSurcharge(c.index, c.surcharge()) }

// surcharge is what is charged for that output.
func (c *class) surcharge() int64 {
	if !c.EstimateOutput {
		return 0
	}
	return weighted(c.OutputWeight, c.output.value)
}

// mean is the moving mean of a sequence: the plain one at first, later one in
// which each value counts for less the older it is.
type mean struct {
	value float64
	n     int // values, at most memory
}

// memory is how many values a mean looks back on, about.
const memory = 64

func (m *mean) add(x float64) {
	m.n = min(m.n+1, memory)
	m.value += (x - m.value) / float64(m.n)
}
