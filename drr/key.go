package drr

import (
	"math"
	"math/bits"
)

// key orders the requests of a class, smallest first. It is computed once, at enqueue.
type key struct {
	score  uint64 // what the class's order says, mapped so that the smallest goes first
	seq    uint64
	strict uint32 // the tier, inverted: the largest goes first
	note   uint32 // no part of the order, but it fits here; see node
}

// before reports whether k goes before o.
func (k *key) before(o *key) bool { return k.less(o) != 0 }

// less is 1 if k goes before o, else 0. It does not branch: in a heap the outcome is a coin toss that no
// predictor wins.
func (k *key) less(o *key) uint64 {
	_, borrow := bits.Sub64(k.seq, o.seq, 0)
	_, borrow = bits.Sub64(k.score, o.score, borrow)
	_, borrow = bits.Sub64(uint64(k.strict), uint64(o.strict), borrow)
	return borrow
}

// keyOf returns the place of e in the order of class c.
func keyOf(c *Class, e *Entry) key {
	return key{score: score(c, e), seq: e.Seq, strict: ^e.Strict, note: e.gen}
}

func score(c *Class, e *Entry) uint64 {
	switch {
	case c.Order == EDF:
		return edf(e)
	case c.Order == FCFS:
		return ascending(addClamped(e.Arrival, -nanoseconds(e.Jump)))
	case c.Aging > 0:
		allowance := c.Aging * float64(e.Cost()) / ((1 + e.Jump) * c.Rate)
		return ascending(addClamped(e.Arrival, nanoseconds(allowance)))
	default:
		// Positive floats order like their bits; inverted, the largest weight comes first.
		return ^math.Float64bits((1 + e.Jump) / float64(e.Cost()))
	}
}

// edf puts deadlines in the lower half of the range and those who have none, by arrival, above.
func edf(e *Entry) uint64 {
	if e.Deadline != 0 {
		return uint64(max(e.Deadline, 0))
	}
	return 1<<63 | uint64(max(e.Arrival, 0))
}

// ascending maps signed to unsigned numbers and keeps their order.
func ascending(x int64) uint64 { return uint64(x) ^ 1<<63 }

// nanoseconds converts seconds, rounded down, and stops at about 146 years.
func nanoseconds(seconds float64) int64 {
	if ns := seconds * 1e9; ns < 1<<62 {
		return int64(ns)
	}
	return 1 << 62
}

// addClamped adds and stays at the end of the range instead of wrapping round.
func addClamped(a, b int64) int64 {
	sum := a + b
	if (sum > a) == (b > 0) || b == 0 {
		return sum
	}
	if b > 0 {
		return math.MaxInt64
	}
	return math.MinInt64
}
