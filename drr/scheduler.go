package drr

import (
	"errors"
	"fmt"
)

// Gate says whether the head of a lane can be dispatched now. It must not call the scheduler.
// It is asked about heads only, at most once for each in a call of Next, and in the order in which they
// are due: the first one that may go, goes.
type Gate func(class int, t Target, head *Entry) Answer

// Answer is what a Gate says.
type Answer uint8

// The answers.
const (
	Shut    Answer = iota // the head cannot go; nobody asks again until a recheck or another head
	Open                  // the head goes
	AllShut               // no head in a shared lane of this class can go; nobody asks again until a recheck
)

// Scheduler queues entries by class and lane and picks the next one to dispatch. It is not safe
// for concurrent use. Classes are named by their index in the list given to New.
type Scheduler struct {
	classes []class
	ring    ring
	recheck bool  // every blocked lane may be tested again
	charged int64 // tokens, by the last dispatch
	length  int
	blocked blockedLanes
	closed  []*class // whose shared lanes are all blocked
	spare   spares
}

// New returns a scheduler whose ring visits the classes in the order given.
func New(classes []Class) (*Scheduler, error) {
	if len(classes) == 0 {
		return nil, errors.New("drr: no classes given, need at least one")
	}
	s := &Scheduler{classes: make([]class, len(classes)), closed: make([]*class, 0, len(classes))}
	names := make(map[string]bool, len(classes))
	for i, c := range classes {
		if err := c.validate(); err != nil {
			return nil, fmt.Errorf("drr: class %d %q: %w", i, c.Name, err)
		}
		if names[c.Name] {
			return nil, fmt.Errorf("drr: class %d %q: name is taken by another class", i, c.Name)
		}
		names[c.Name] = true
		s.classes[i] = class{Class: c, turn: member{quantum: min(c.Quantum, limit), place: uint32(i)}}
		if !c.Tenants {
			s.classes[i].only = new(flow)
			s.classes[i].only.join(&s.classes[i], 0)
		}
	}
	s.ring.due.grow(len(classes))
	s.blocked.reserve(Shared.Worker)
	return s, nil
}

// members visits the members of the ring.
func (s *Scheduler) members(yield func(*member) bool) {
	for i := range s.classes {
		if !yield(&s.classes[i].turn) {
			return
		}
	}
}

// Enqueue adds e to the lane of class, tenant and t, and clamps its Jump and Cached. An entry that comes back
// under the same Seq and Arrival regains its place. It panics if e is queued already.
func (s *Scheduler) Enqueue(class int, t Target, e *Entry) {
	if e.lane != nil {
		panic(fmt.Sprintf("drr: entry %d is queued already", e.Seq))
	}
	if t.Worker < 0 {
		t = Shared
	}
	c := &s.classes[class]
	f := c.flow(e.Tenant)
	if f == nil {
		f = s.spare.flow()
		c.admit(f, e.Tenant)
	}
	l := c.lane(f, t)
	if l == nil {
		l = s.spare.lane()
		c.adopt(l, f, t)
		s.blocked.reserve(t.Worker)
	}
	e.clamp()
	e.lane, e.class, e.target = l, int32(class), t
	f.requests++
	c.counters.add(e, 1)
	s.length++
	s.insert(l, e)
}

// insert queues e in l and lists the lane anew if its head changed.
func (s *Scheduler) insert(l *lane, e *Entry) {
	was, f := l.entries.live, l.flow
	if !l.entries.push(node[*Entry]{key: keyOf(&f.class.Class, e), ref: e}, uint32(e.Cost())) {
		return
	}
	if was > 0 {
		s.unlist(l)
	}
	s.list(l)
}

// list puts l among the lanes of its flow that can go, and tells the rings if that changes what the flow has to offer:
// it is the first lane, or one that can go although the shared lanes cannot.
func (s *Scheduler) list(l *lane) {
	f := l.flow
	f.list(l)
	if f.choose(); f.lead == l || f.class.closed {
		s.tell(f)
	}
}

// unlist takes l out of wherever its head is known, because the head changed or is gone.
func (s *Scheduler) unlist(l *lane) {
	if l.blocked {
		s.blocked.remove(l)
	} else {
		l.flow.delist(l)
	}
}

// update finds the candidate of f anew and tells the rings.
func (s *Scheduler) update(f *flow) {
	f.choose()
	s.tell(f)
}

// tell lets the rings know what flow f has to offer now.
func (s *Scheduler) tell(f *flow) {
	c := f.class
	if c.only == nil {
		c.tenants.set(&f.turn, f.offer())
		s.release(f)
	}
	s.ring.set(&c.turn, c.offer())
}

// release puts the flow of a tenant aside when it has nothing left, to be used again.
func (s *Scheduler) release(f *flow) {
	if f.requests == 0 {
		f.class.dismiss(f)
		s.spare.keepFlow(f)
	}
}

// Remove takes e out of its lane, as when it was cancelled or has expired. A class or tenant emptied so
// loses its deficit. It panics if e is not queued.
func (s *Scheduler) Remove(e *Entry) {
	l := e.lane
	if l == nil {
		panic(fmt.Sprintf("drr: entry %d is not queued", e.Seq))
	}
	f := l.flow
	head := l.head == e
	if head {
		s.unlist(l)
	}
	s.leave(f, e)
	l.entries.remove(keyOf(&f.class.Class, e), e)
	switch {
	case !head:
		return
	case l.entries.live > 0:
		f.list(l)
	default:
		s.retire(l)
	}
	s.update(f)
}

// leave does the book-keeping for an entry on its way out of a lane of f.
func (s *Scheduler) leave(f *flow, e *Entry) {
	f.requests--
	f.class.counters.add(e, -1)
	s.length--
	e.lane = nil
	e.gen++
}

// retire puts an exact lane that has nothing left aside, to be used again.
func (s *Scheduler) retire(l *lane) {
	l.head = nil
	if l.exact() {
		l.flow.class.abandon(l)
		s.spare.keepLane(l)
	}
}
