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

// Snapshot returns the present credit of every class.
func (s *Scheduler) Snapshot() State {
	st := State{Cursor: s.classes[s.ring.cursor].Name, Granted: s.ring.granted}
	for i := range s.classes {
		if m := &s.ring.members[i]; s.ring.waiting.has(i) && (m.deficit != 0 || m.open) {
			st.Classes = append(st.Classes, ClassState{s.classes[i].Name, m.deficit, m.open})
		}
	}
	return st
}

// Restore takes over a snapshot. Call it once the backlog is enqueued: names that are
// unknown and classes that are empty are passed over, because an empty class has no credit.
func (s *Scheduler) Restore(st State) {
	index := make(map[string]int, len(s.classes))
	for i := range s.classes {
		index[s.classes[i].Name] = i
	}
	for _, c := range st.Classes {
		if i, ok := index[c.Name]; ok {
			s.ring.restore(i, c.Deficit, c.Open)
		}
	}
	if i, ok := index[st.Cursor]; ok {
		s.ring.point(i, st.Granted)
	}
}

// Len returns the number of entries queued in all classes.
func (s *Scheduler) Len() int { return s.length }

// Counters returns what class has queued.
func (s *Scheduler) Counters(class int) Counters { return s.classes[class].counters }

// Backlogged reports whether class has anything queued, blocked or not.
func (s *Scheduler) Backlogged(class int) bool { return s.ring.waiting.has(class) }

// Deficit returns the tokens that class has earned and not spent; 0 for an empty class.
func (s *Scheduler) Deficit(class int) int64 {
	if !s.ring.waiting.has(class) {
		return 0
	}
	return s.ring.members[class].deficit
}

// Each visits the entries of class in no particular order until fn returns false.
// fn must not change the scheduler.
func (s *Scheduler) Each(class int, fn func(*Entry) bool) { s.classes[class].each(fn) }

// EachIn visits the entries of one lane of class in no particular order until fn returns false, for
// instance those of a worker that vanished. fn must not change the scheduler: collect first, then
// remove.
func (s *Scheduler) EachIn(class int, t Target, fn func(*Entry) bool) {
	if l := s.classes[class].lane(t); l != nil {
		l.entries.each(fn)
	}
}

// EachOf visits the entries of every exact lane of worker in class, whatever the rank, like EachIn.
func (s *Scheduler) EachOf(class int, worker int32, fn func(*Entry) bool) {
	c := &s.classes[class]
	if worker < 0 || int(worker) >= len(c.exact) {
		return
	}
	for l := c.exact[worker]; l != nil; l = l.sibling {
		if !l.entries.each(fn) {
			return
		}
	}
}
