package drr

import (
	"math"
	"slices"
)

// textbook is Deficit Round Robin as one would write it on a blackboard: visit one class at a time, grant one
// quantum a visit, look at every lane. It is slow, and it is what the scheduler must equal.
type textbook struct {
	classes []plainClass
	cursor  int
	granted bool
}

type plainClass struct {
	Class
	queued  []Entry
	deficit int64
	open    bool
}

func newTextbook(classes []Class) *textbook {
	b := new(textbook)
	for _, c := range classes {
		b.classes = append(b.classes, plainClass{Class: c})
	}
	return b
}

func (b *textbook) enqueue(class int, t Target, e Entry) {
	e.class, e.target, e.Cached = int32(class), t, min(e.Cached, e.Raw)
	c := &b.classes[class]
	c.queued = append(c.queued, e)
}

func (b *textbook) remove(seq uint64) {
	for i := range b.classes {
		if at := slices.IndexFunc(b.classes[i].queued, func(e Entry) bool { return e.Seq == seq }); at >= 0 {
			b.take(i, at)
			return
		}
	}
}

// take removes one entry. A class that is now empty loses its credit and its visit.
func (b *textbook) take(class, at int) Entry {
	c := &b.classes[class]
	e := c.queued[at]
	c.queued = slices.Delete(c.queued, at, at+1)
	if len(c.queued) == 0 {
		c.deficit, c.open = 0, false
		if b.granted && b.cursor == class {
			b.advance()
		}
	}
	return e
}

func (b *textbook) advance() {
	b.cursor, b.granted = (b.cursor+1)%len(b.classes), false
}

func (b *textbook) refund(class int, tokens int64) { b.classes[class].deficit += tokens }

// next dispatches one entry or, if there is none that can go, changes nothing.
func (b *textbook) next(gate Gate) (Entry, bool) {
	found := false
	for i := range b.classes {
		_, ok := b.candidate(i, gate)
		found = found || ok
	}
	if !found {
		return Entry{}, false
	}
	for {
		class := b.cursor
		if at, ok := b.visit(gate); ok {
			e := b.classes[class].queued[at]
			b.classes[class].deficit -= e.Cost()
			b.take(class, at)
			b.forgive()
			return e, true
		}
	}
}

// visit does what is due at the cursor: it returns the entry to dispatch or moves on.
func (b *textbook) visit(gate Gate) (at int, ok bool) {
	c := &b.classes[b.cursor]
	at, ok = b.candidate(b.cursor, gate)
	if !b.granted {
		if !ok {
			b.advance()
			return 0, false
		}
		if !c.open || c.queued[at].Cost() > c.deficit {
			c.deficit += c.Quantum
		}
		c.open, b.granted = false, true
	}
	if ok && c.queued[at].Cost() <= c.deficit {
		return at, true
	}
	c.open = !ok
	b.advance()
	return 0, false
}

// forgive ends the time in which an empty class keeps a refund.
func (b *textbook) forgive() {
	for i := range b.classes {
		if c := &b.classes[i]; len(c.queued) == 0 {
			c.deficit = 0
		}
	}
}

// candidate finds the head of every lane, then the best of the heads that can go.
func (b *textbook) candidate(class int, gate Gate) (int, bool) {
	c := &b.classes[class]
	best := -1
	for i := range c.queued {
		e := &c.queued[i]
		if c.isHead(e) && gate(class, e.target, e) && (best < 0 || c.before(e, &c.queued[best])) {
			best = i
		}
	}
	return best, best >= 0
}

func (c *plainClass) isHead(e *Entry) bool {
	for i := range c.queued {
		if o := &c.queued[i]; o.target == e.target && c.before(o, e) {
			return false
		}
	}
	return true
}

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
