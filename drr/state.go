package drr

// State is what a successor needs to go on where this scheduler stopped; entries are not part of it.
type State struct {
	Cursor  string       `json:"cursor" msgpack:"cursor"`   // name of the class under the cursor
	Granted bool         `json:"granted" msgpack:"granted"` // that class has had this visit's quantum
	Classes []ClassState `json:"classes,omitempty" msgpack:"classes,omitempty"`
}

// ClassState is the credit of one class that is not empty.
type ClassState struct {
	Name    string `json:"name" msgpack:"name"`
	Deficit int64  `json:"deficit" msgpack:"deficit"`               // tokens earned and not spent
	Open    bool   `json:"open,omitempty" msgpack:"open,omitempty"` // its visit was interrupted
}

// Snapshot returns the present credit of every class. That of tenants is no part of it: a successor starts their
// rings afresh, which moves each of them by no more than one bound.
func (s *Scheduler) Snapshot() State {
	st := State{Cursor: s.classes[s.ring.next%int64(len(s.classes))].Name}
	if on := s.ring.on; on != nil {
		st.Cursor, st.Granted = s.classes[on.place].Name, true
	}
	for i := range s.classes {
		m := &s.classes[i].turn
		if credit := s.ring.credit(m); credit != 0 || m.open {
			st.Classes = append(st.Classes, ClassState{s.classes[i].Name, credit, m.open})
		}
	}
	return st
}

// Restore takes over a snapshot. Call it once the backlog is enqueued: names that are
// unknown and classes that are empty are passed over, because an empty class has no credit.
func (s *Scheduler) Restore(st State) {
	index := make(map[string]int, len(s.classes))
	credit := make([]ClassState, len(s.classes))
	for i := range s.classes {
		c := &s.classes[i]
		index[c.Name] = i
		credit[i] = ClassState{Deficit: s.ring.credit(&c.turn), Open: c.turn.open}
	}
	for _, c := range st.Classes {
		if i, ok := index[c.Name]; ok {
			credit[i] = c
		}
	}
	if i, ok := index[st.Cursor]; ok {
		s.point(i, st.Granted)
	}
	for i := range s.classes {
		if s.Backlogged(i) {
			s.ring.restore(&s.classes[i].turn, credit[i].Deficit, credit[i].Open)
		}
	}
}

// point sets the cursor. An empty class has no visit to go on with: the next one is due.
func (s *Scheduler) point(class int, granted bool) {
	switch m := &s.classes[class].turn; {
	case !granted:
		s.ring.point(m.place, nil)
	case s.Backlogged(class):
		s.ring.point(m.place, m)
	default:
		s.ring.point(m.place+1, nil)
	}
}

// Len returns the number of entries queued in all classes.
func (s *Scheduler) Len() int { return s.length }

// Counters returns what class has queued.
func (s *Scheduler) Counters(class int) Counters { return s.classes[class].counters }

// Backlogged reports whether class has anything queued, blocked or not.
func (s *Scheduler) Backlogged(class int) bool { return s.classes[class].counters.Requests > 0 }

// Deficit returns the tokens that class has earned and not spent; 0 for an empty class.
func (s *Scheduler) Deficit(class int) int64 { return s.ring.credit(&s.classes[class].turn) }

// Each visits the entries of class in no particular order until fn returns false.
// fn must not change the scheduler.
func (s *Scheduler) Each(class int, fn func(*Entry) bool) {
	c := &s.classes[class]
	if !c.eachShared(fn) {
		return
	}
	for w := range c.exact {
		if !c.eachOf(int32(w), fn) {
			return
		}
	}
}

// EachIn visits the entries of class that wait for one target, whatever the tenant, in no particular order until fn
// returns false. fn must not change the scheduler: collect first, then remove.
func (s *Scheduler) EachIn(class int, t Target, fn func(*Entry) bool) {
	c := &s.classes[class]
	if t.Worker < 0 {
		c.eachShared(fn)
		return
	}
	for l := c.lanesOf(t.Worker); l != nil; l = l.sibling {
		if l.target.Rank == t.Rank && !l.entries.each(fn) {
			return
		}
	}
}
