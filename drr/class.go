package drr

import (
	"errors"
	"fmt"
	"math"
)

// Order is how a class orders the requests of a lane, below their strict tier and above their sequence.
type Order uint8

// The orders.
const (
	FCFS Order = iota // Arrival less Jump seconds, earliest first
	WSPT              // (1 + Jump) / Cost, largest first
	EDF               // Deadline, earliest first; those without one last, by Arrival
)

func (o Order) String() string {
	switch o {
	case FCFS:
		return "fcfs"
	case WSPT:
		return "wspt"
	case EDF:
		return "edf"
	}
	return fmt.Sprintf("Order(%d)", uint8(o))
}

// Class describes one member of the ring.
type Class struct {
	Name    string  // not empty, and unique within a scheduler
	Quantum int64   // uncached tokens a visit, > 0; more than 2⁶⁰ counts as 2⁶⁰
	Order   Order   // order within a lane
	Aging   float64 // k, ≥ 0 and finite; 0 = off; WSPT only: smallest Arrival + k·Cost/((1+Jump)·Rate) first
	Rate    float64 // nominal tokens per second, > 0 and finite when Aging > 0

	// Tenants divides the service of the class among its tenants by the same arbiter. Memory grows with the
	// largest tenant number that has something queued.
	Tenants bool
	// Weight returns the weight of a tenant, > 0 (what is not counts as the least possible); nil gives every tenant
	// the weight 1. It is asked whenever a tenant that had nothing queued gets something.
	Weight func(tenant uint32) float64
}

func (c *Class) validate() error {
	switch {
	case c.Name == "":
		return errors.New("name is empty")
	case c.Quantum <= 0:
		return fmt.Errorf("quantum is %d, must be at least 1 token", c.Quantum)
	case c.Order > EDF:
		return fmt.Errorf("order is %d, must be fcfs, wspt or edf", c.Order)
	case !(c.Aging >= 0) || math.IsInf(c.Aging, 0):
		return fmt.Errorf("aging is %v, must be a finite number, 0 or more", c.Aging)
	case c.Aging > 0 && c.Order != WSPT:
		return fmt.Errorf("aging is %v, but the order is %v: it needs wspt", c.Aging, c.Order)
	case c.Weight != nil && !c.Tenants:
		return errors.New("weight is given, but tenants is off: it needs tenants")
	case c.Aging > 0 && (!(c.Rate > 0) || math.IsInf(c.Rate, 0)):
		return fmt.Errorf("rate is %v, must be a finite number of tokens per second above 0 when aging is on", c.Rate)
	}
	return nil
}

// share returns the quantum of a tenant: that of the class times its weight, to the nearest token, at least 1.
func (c *Class) share(tenant uint32) int64 {
	if c.Weight == nil {
		return min(c.Quantum, limit)
	}
	tokens := c.Weight(tenant) * float64(c.Quantum)
	if !(tokens > 1) { // so written because NaN is not greater either
		return 1
	}
	return int64(min(math.Round(tokens), limit))
}

// Counters is what a class has queued.
type Counters struct {
	Requests              int
	Raw, Cached, Uncached int64 // tokens
}

func (n *Counters) add(e *Entry, sign int64) {
	n.Requests += int(sign)
	n.Raw += sign * int64(e.Raw)
	n.Cached += sign * int64(e.Cached)
	n.Uncached += sign * e.Uncached()
}
