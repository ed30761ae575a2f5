package drr

import "math"

// before compares two entries as scheduling is specified, in floating-point seconds.
func (c *plainClass) before(a, b *Entry) bool {
	if a.Strict != b.Strict {
		return a.Strict > b.Strict
	}
	if x, y := c.urgency(a), c.urgency(b); x != y {
		return x > y
	}
	if c.Order == EDF && a.Arrival != b.Arrival && a.Deadline == 0 {
		return a.Arrival < b.Arrival
	}
	return a.Seq < b.Seq
}

func (c *plainClass) urgency(e *Entry) float64 {
	arrival, cost := float64(e.Arrival)/1e9, float64(e.Cost())
	switch {
	case c.Order == FCFS:
		return e.Jump - arrival
	case c.Order == EDF && e.Deadline == 0:
		return math.Inf(-1)
	case c.Order == EDF:
		return -float64(e.Deadline)
	case c.Aging > 0:
		return -(arrival + c.Aging*cost/((1+e.Jump)*c.Rate))
	}
	return (1 + e.Jump) / cost
}
