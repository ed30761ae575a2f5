package drr

import (
	"errors"
	"fmt"
)

// Gate says whether the head of a lane can be dispatched now. It must not call the scheduler.
// It is asked about heads only, at most once for each in a call of Next.
type Gate func(class int, t Target, head *Entry) bool

// Scheduler queues entries by class and lane and picks the next one to dispatch. It is not safe
// for concurrent use. Classes are named by their index in the list given to New.
type Scheduler struct {
	classes []class
	ring    ring
	blocked blockedLanes
	recheck bool  // every blocked lane may be tested again
	spare   *lane // exact lanes not in use
	length  int
}

// New returns a scheduler whose ring visits the classes in the order given.
func New(classes []Class) (*Scheduler, error) {
	if len(classes) == 0 {
		return nil, errors.New("drr: no classes given, need at least one")
	}
	s := &Scheduler{classes: make([]class, len(classes))}
	quanta := make([]int64, len(classes))
	names := make(map[string]bool, len(classes))
	for i, c := range classes {
		if err := c.validate(); err != nil {
			return nil, fmt.Errorf("drr: class %d %q: %w", i, c.Name, err)
		}
		if names[c.Name] {
			return nil, fmt.Errorf("drr: class %d %q: name is taken by another class", i, c.Name)
		}
		names[c.Name] = true
		quanta[i] = c.Quantum
		s.classes[i] = class{Class: c, index: i}
		s.classes[i].shared = &lane{class: &s.classes[i], target: Shared}
	}
	s.ring = newRing(quanta)
	s.blocked.reserve(Shared.Worker)
	return s, nil
}

// Enqueue adds e to the lane of class and t, and clamps its Jump and Cached. An entry that comes back
// under the same Seq and Arrival regains its place. It panics if e is queued already.
func (s *Scheduler) Enqueue(class int, t Target, e *Entry) {
	if e.lane != nil {
		panic(fmt.Sprintf("drr: entry %d is queued already", e.Seq))
	}
	c := &s.classes[class]
	if t.Worker < 0 {
		t = Shared
	}
	l := c.lane(t)
	if l == nil {
		l = s.newLane()
		c.adopt(l, t)
		s.blocked.reserve(t.Worker)
	}
	e.clamp()
	e.lane, e.class, e.target = l, int32(class), t
	if c.counters.Requests == 0 {
		s.ring.fill(class)
	}
	c.counters.add(e, 1)
	s.length++
	s.insert(l, e)
}

// insert queues e in l and lists the lane anew if its head changed.
func (s *Scheduler) insert(l *lane, e *Entry) {
	was := l.entries.live
	l.entries.push(node[*Entry]{key: keyOf(&l.class.Class, e), ref: e})
	if l.entries.top().ref != e {
		return
	}
	if was > 0 {
		s.unlist(l)
	}
	l.list()
}

// unlist takes l out of wherever its head is known, because the head changed or is gone.
func (s *Scheduler) unlist(l *lane) {
	if l.blocked {
		s.blocked.remove(l)
	} else {
		l.delist()
	}
}

// Remove takes e out of its lane, as when it was cancelled or has expired. A class emptied so
// loses its deficit. It panics if e is not queued.
func (s *Scheduler) Remove(e *Entry) {
	l := e.lane
	if l == nil {
		panic(fmt.Sprintf("drr: entry %d is not queued", e.Seq))
	}
	head := l.head == e
	if head {
		s.unlist(l)
	}
	s.leave(e)
	l.entries.removed()
	if head && l.entries.live > 0 {
		l.list()
	} else if head {
		s.retire(l)
	}
	if l.class.counters.Requests == 0 {
		s.ring.empty(l.class.index)
	}
}

// leave does the book-keeping for an entry on its way out of its lane.
func (s *Scheduler) leave(e *Entry) {
	e.lane.class.counters.add(e, -1)
	s.length--
	e.lane = nil
	e.gen++
}

// retire puts an exact lane that has nothing left aside, to be used again.
func (s *Scheduler) retire(l *lane) {
	l.head = nil
	if l.target.Worker >= 0 {
		l.class.abandon(l)
		l.sibling, s.spare = s.spare, l
	}
}

func (s *Scheduler) newLane() *lane {
	l := s.spare
	if l == nil {
		return new(lane)
	}
	s.spare, l.sibling = l.sibling, nil
	return l
}

// Next takes out the entry to dispatch now and charges its class, or returns nil and changes no
// credit when nothing is dispatchable. A head that gate refuses is not asked about again until a
// recheck, or until another entry takes its place.
func (s *Scheduler) Next(gate Gate) *Entry {
	s.recheckNow()
	winner, ok := s.ring.choose(func(i int) offer {
		return s.classes[i].offer(gate, &s.blocked)
	})
	if !ok {
		return nil
	}
	c := &s.classes[winner]
	l := c.ready.top().ref
	e := l.entries.pop()
	s.leave(e)
	if l.entries.live > 0 {
		l.relist()
	} else {
		c.ready.pop()
		s.retire(l)
	}
	s.ring.commit(e.Cost(), c.counters.Requests == 0)
	return e
}

// Recheck says that worker may be able to take more: its blocked lanes of every class and rank,
// and the blocked shared lanes, are tested again.
func (s *Scheduler) Recheck(worker int32) {
	s.blocked.release(s.blocked.at(-1))
	if worker >= 0 {
		s.blocked.release(s.blocked.at(worker))
	}
}

// RecheckAll says that any worker may be able to take more. The work is put off until Next.
func (s *Scheduler) RecheckAll() { s.recheck = true }

func (s *Scheduler) recheckNow() {
	if !s.recheck {
		return
	}
	s.recheck = false
	for i := range s.blocked.heads {
		s.blocked.release(i)
	}
}

// Refund gives tokens back to a class that was charged for a request which was then not served: it was
// put back, or failed at placement. Negative tokens are a charge. An empty class keeps a refund
// only until the next dispatch; doc.go says why.
func (s *Scheduler) Refund(class int, tokens int64) { s.ring.refund(class, tokens) }
