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
	case c.Aging > 0 && (!(c.Rate > 0) || math.IsInf(c.Rate, 0)):
		return fmt.Errorf("rate is %v, must be a finite number of tokens per second above 0 when aging is on", c.Rate)
	}
	return nil
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

// class is a Class at work: its lanes, and an index of those that are not known to be blocked.
type class struct {
	Class
	index    int
	shared   *lane
	exact    []*lane      // by worker, a list over its ranks; lanes without entries are not kept
	ready    queue[*lane] // lanes that have a head nobody found blocked, by the head's key
	counters Counters
}

// offer finds the dispatchable head that goes first, and sets aside the lanes it finds blocked.
func (c *class) offer(gate Gate, blocked *blockedLanes) offer {
	for c.ready.live > 0 {
		l := c.ready.top().ref
		if gate(c.index, l.target, l.head) {
			return offer{cost: l.cost, ok: true}
		}
		c.ready.pop()
		blocked.add(l)
	}
	return offer{}
}

// lane returns the lane of t if it holds anything.
func (c *class) lane(t Target) *lane {
	if t.Worker < 0 {
		return c.shared
	}
	if int(t.Worker) >= len(c.exact) {
		return nil
	}
	l := c.exact[t.Worker]
	for l != nil && l.target.Rank != t.Rank {
		l = l.sibling
	}
	return l
}

// adopt makes l, a lane not in use, the lane of t.
func (c *class) adopt(l *lane, t Target) {
	if missing := int(t.Worker) + 1 - len(c.exact); missing > 0 {
		c.exact = append(c.exact, make([]*lane, missing)...)
	}
	l.class, l.target = c, t
	l.sibling, c.exact[t.Worker] = c.exact[t.Worker], l
}

// abandon undoes adopt.
func (c *class) abandon(l *lane) {
	at := &c.exact[l.target.Worker]
	for *at != l {
		at = &(*at).sibling
	}
	*at, l.sibling = l.sibling, nil
}

// each visits the entries of all lanes until fn returns false.
func (c *class) each(fn func(*Entry) bool) {
	if !c.shared.entries.each(fn) {
		return
	}
	for _, l := range c.exact {
		for ; l != nil; l = l.sibling {
			if !l.entries.each(fn) {
				return
			}
		}
	}
}
