package drr

import (
	"math"
	"slices"
)

// textbook is Deficit Round Robin as one would write it on a blackboard: visit one class at a time, and in it one
// tenant at a time, grant one quantum a visit, look at every lane. It is slow, and it is what the scheduler must equal.
// A head counts as one that can go until it was asked about when it was due: then the walk begins again without it.
type textbook struct {
	classes []plainClass
	ring    plainRing
	heads   map[plainLane]plainHead
}

type plainClass struct {
	Class
	queued    []Entry
	tenants   plainRing
	surcharge int64
	closed    bool
}

type plainLane struct {
	class  int
	tenant uint32
	target Target
}

type plainHead struct {
	seq  uint64
	cost int64
	shut bool
}

func newTextbook(classes []Class, tenants int) *textbook {
	b := &textbook{heads: map[plainLane]plainHead{}}
	for _, c := range classes {
		p := plainClass{Class: c}
		for i := range tenants {
			quantum := c.Quantum
			if c.Weight != nil {
				quantum = max(1, int64(math.Round(float64(c.Quantum)*c.Weight(uint32(i)))))
			}
			p.tenants.members = append(p.tenants.members, plainMember{quantum: quantum})
		}
		b.classes = append(b.classes, p)
		b.ring.members = append(b.ring.members, plainMember{quantum: c.Quantum})
	}
	return b
}

// observe takes note of the heads, and of classes and tenants that are empty now.
func (b *textbook) observe() {
	heads := map[plainLane]plainHead{}
	for i := range b.classes {
		c := &b.classes[i]
		if len(c.queued) == 0 {
			b.ring.emptied(i)
		}
		for tenant := range c.tenants.members {
			if !slices.ContainsFunc(c.queued, func(e Entry) bool { return int(e.Tenant) == tenant }) {
				c.tenants.emptied(tenant)
			}
		}
		for j := range c.queued {
			e := &c.queued[j]
			if !c.isHead(e) {
				continue
			}
			id := c.laneOf(i, e)
			head, known := b.heads[id]
			if !known || head.seq != e.Seq {
				head = plainHead{seq: e.Seq, cost: e.Cost() + c.surcharge}
			}
			heads[id] = head
		}
	}
	b.heads = heads
}

func (c *plainClass) laneOf(class int, e *Entry) plainLane {
	id := plainLane{class: class, target: e.target}
	if c.Tenants {
		id.tenant = e.Tenant
	}
	return id
}

func (b *textbook) enqueue(class int, t Target, e Entry) {
	e.class, e.target, e.Cached = int32(class), t, min(e.Cached, e.Raw)
	c := &b.classes[class]
	c.queued = append(c.queued, e)
	b.observe()
}

func (b *textbook) remove(seq uint64) {
	for i := range b.classes {
		b.classes[i].queued = slices.DeleteFunc(b.classes[i].queued, func(e Entry) bool { return e.Seq == seq })
	}
	b.observe()
}

func (b *textbook) charge(class int, tenant uint32, tokens int64) {
	c := &b.classes[class]
	b.ring.members[class].deficit -= tokens
	c.tenants.members[tenant].deficit -= tokens
	b.observe()
}

// recheck lets the heads that wait for worker be asked about again, those of all workers if it is negative.
func (b *textbook) recheck(worker int32) {
	for id, head := range b.heads {
		if id.target.Worker < 0 || worker < 0 || id.target.Worker == worker {
			head.shut = false
			b.heads[id] = head
		}
	}
	for i := range b.classes {
		b.classes[i].closed = false
	}
}

// succeed is a take-over: tenants start afresh, and nothing is known about the heads.
func (b *textbook) succeed() {
	for i := range b.classes {
		c := &b.classes[i]
		c.closed, c.tenants.cursor, c.tenants.granted = false, 0, false
		for j := range c.tenants.members {
			c.tenants.members[j].deficit, c.tenants.members[j].open = 0, false
		}
	}
	clear(b.heads)
	b.observe()
}

// next dispatches one entry or, if there is none that can go, changes nothing.
func (b *textbook) next(gate Gate) (e Entry, charged int64, ok bool) {
	for {
		classes := b.ring.clone()
		class, cost := classes.walk(func(i int) int64 { return b.offer(i, b.classes[i].tenants.clone()) })
		if class < 0 {
			return Entry{}, 0, false
		}
		c := &b.classes[class]
		tenants := c.tenants.clone()
		e := b.candidate(class, &tenants)
		id := c.laneOf(class, e)
		answer := Shut
		if id.target != Shared || !c.closed {
			answer = gate(class, e.target, e)
		}
		if answer != Open {
			head := b.heads[id]
			head.shut = true
			b.heads[id] = head
			c.closed = c.closed || answer == AllShut && id.target == Shared
			continue
		}
		b.ring, c.tenants = classes, tenants
		out := *e
		b.remove(out.Seq)
		return out, cost, true
	}
}

// offer returns what the candidate of a class costs, 0 if it has none.
func (b *textbook) offer(class int, tenants plainRing) int64 {
	if b.classes[class].closed && !b.mayServePinned(class) {
		return 0
	}
	e := b.candidate(class, &tenants)
	if e == nil {
		return 0
	}
	return b.heads[b.classes[class].laneOf(class, e)].cost
}

// mayServePinned reports whether a class has an exact lane that is not known to be blocked.
func (b *textbook) mayServePinned(class int) bool {
	for id, head := range b.heads {
		if id.class == class && id.target != Shared && !head.shut {
			return true
		}
	}
	return false
}

// candidate walks round the tenants of a class, if it has them, to the one that is next.
func (b *textbook) candidate(class int, tenants *plainRing) *Entry {
	c := &b.classes[class]
	if !c.Tenants {
		return b.best(class, 0)
	}
	next, _ := tenants.walk(func(tenant int) int64 {
		if e := b.best(class, uint32(tenant)); e != nil {
			return b.heads[c.laneOf(class, e)].cost
		}
		return 0
	})
	if next < 0 {
		return nil
	}
	return b.best(class, uint32(next))
}

// best returns the best head of a class, or of a tenant of it, that is not known to be blocked.
func (b *textbook) best(class int, tenant uint32) *Entry {
	c := &b.classes[class]
	var best *Entry
	for i := range c.queued {
		e := &c.queued[i]
		id := c.laneOf(class, e)
		head := b.heads[id]
		if id.tenant != tenant || head.seq != e.Seq || head.shut {
			continue
		}
		if best == nil || c.before(e, best) {
			best = e
		}
	}
	return best
}

func (c *plainClass) isHead(e *Entry) bool {
	for i := range c.queued {
		if o := &c.queued[i]; c.laneOf(0, o) == c.laneOf(0, e) && c.before(o, e) {
			return false
		}
	}
	return true
}
