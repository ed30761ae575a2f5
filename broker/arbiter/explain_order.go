package arbiter

import (
	"cmp"
	"fmt"
	"time"

	"fairlead/drr"
	"fairlead/policy"
)

// before reports whether x goes before y in a lane of a class: the scheduler's
// order once more, in words that can be shown.
func before(c *policy.Class, x, y *drr.Entry) bool {
	p, q := precedence(c, x), precedence(c, y)
	return cmp.Or(cmp.Compare(y.Strict, x.Strict), cmp.Compare(p.group, q.group), cmp.Compare(p.at, q.at),
		cmp.Compare(q.weight, p.weight), cmp.Compare(x.Seq, y.Seq)) < 0
}

// standing is what an order says of a request below its tier: first the lower
// group, then the earlier instant, then the larger weight.
type standing struct {
	group  int
	at     int64 // unix nanoseconds
	weight float64
}

func precedence(c *policy.Class, e *drr.Entry) standing {
	switch {
	case c.Order == policy.EDF && e.Deadline != 0:
		return standing{at: max(0, e.Deadline)}
	case c.Order == policy.EDF:
		return standing{group: 1, at: max(0, e.Arrival)}
	case c.Order == policy.FCFS:
		return standing{at: e.Arrival - int64(min(e.Jump, drr.MaxJump)*1e9)}
	case c.Aging > 0:
		return standing{at: e.Arrival + int64(min(allowance(c, e)*1e9, 1<<62))}
	}
	return standing{weight: (1 + e.Jump) / float64(e.Cost())}
}

// allowance is how much later a request may arrive and still go first, seconds.
func allowance(c *policy.Class, e *drr.Entry) float64 {
	return c.Aging * float64(e.Cost()) / ((1 + e.Jump) * c.NominalTokensPerSecond)
}

// keyText is the order of a class as it applies to a request.
func keyText(c *policy.Class, e *drr.Entry, now int64) string {
	text := fmt.Sprintf("tier %d; ", e.Strict)
	switch {
	case c.Order == policy.EDF && e.Deadline != 0:
		text += "the earliest deadline first, its own is in " + time.Duration(e.Deadline-now).Round(time.Millisecond).String()
	case c.Order == policy.EDF:
		text += "no deadline, so after all that have one, by arrival"
	case c.Order == policy.FCFS:
		text += fmt.Sprintf("by arrival, %g s earlier for its priority", e.Jump)
	case c.Aging > 0:
		text += fmt.Sprintf("by arrival, %.3g s later for its cost", allowance(c, e))
	default:
		text += fmt.Sprintf("the largest (1 + priority) / cost first, its own is %.3g", (1+e.Jump)/float64(e.Cost()))
	}
	return text
}
