package model

import (
	"fmt"
	"hash/maphash"
	"strings"
)

// Result is what an exploration found.
type Result struct {
	States  int
	Steps   int
	Depth   int  // of the farthest world
	Ends    int  // worlds in which nothing but faults is left
	Capped  int  // worlds with a step that was left out for want of room
	Whole   bool // every world was seen; else the limit came first
	Broken  Promise
	found   map[Promise]trail
	visited []visit
	taken   [len(sentences)]bool // by act
}

// visit is a world that was seen: where from, and by which step.
type visit struct {
	from int32
	step step
}

// trail leads to the first world that breaks a promise: the last step is still to
// be taken, unless it is the end.
type trail struct {
	from int32
	step step
}

// explorer goes through all worlds, breadth first, so that the first trace to
// anything is a shortest one.
type explorer struct {
	sc     Scenario
	seen   hashes
	seed   maphash.Seed
	level  []world
	ahead  []world
	from   int32
	moved  bool
	stop   Promise // ends the exploration when one of these is broken
	result Result
}

// Explore visits every world that a scenario can lead to.
func Explore(sc Scenario) *Result { return explore(sc, 0) }

// Hunt explores until one of the promises is broken.
func Hunt(sc Scenario, p Promise) *Result { return explore(sc, p) }

func explore(sc Scenario, stop Promise) *Result {
	x := &explorer{sc: sc.withDefaults(), seen: newHashes(), seed: maphash.MakeSeed(), stop: stop, result: Result{found: map[Promise]trail{}}}
	first := start(&x.sc)
	x.note(&first, visit{from: -1})
	x.ahead = append(x.ahead, first)
	for len(x.ahead) > 0 && x.result.States < x.sc.Limit && x.result.Broken&stop == 0 {
		x.nextLevel()
	}
	x.result.Whole = len(x.ahead) == 0
	return &x.result
}

// nextLevel takes every step from the worlds that were found last.
func (x *explorer) nextLevel() {
	x.level, x.ahead = x.ahead, x.level[:0]
	m := &model{sc: &x.sc, visit: x.arrive}
	base := int32(len(x.result.visited) - len(x.level))
	for i := range x.level {
		x.from, x.moved = base+int32(i), false
		m.successors(&x.level[i])
		switch {
		case m.capped:
			x.result.Capped++
		case !x.moved:
			x.result.Ends++
			x.breaks(x.level[i].atEnd(x.sc.Requests), step{})
		}
	}
	if len(x.ahead) > 0 {
		x.result.Depth++
	}
}

// arrive takes in the end of a step.
func (x *explorer) arrive(m *model, s step) {
	x.result.Steps++
	x.result.taken[s.act] = true
	x.moved = x.moved || !m.faulty
	x.breaks(m.broken, s)
	if x.note(&m.next, visit{x.from, s}) {
		x.ahead = append(x.ahead, m.next)
	}
}

// note remembers a world; false when it is known.
func (x *explorer) note(w *world, v visit) bool {
	if !x.seen.add(maphash.Comparable(x.seed, canonical(w))) {
		return false
	}
	x.result.visited = append(x.result.visited, v)
	x.result.States++
	return true
}

func (x *explorer) breaks(p Promise, s step) {
	if p &^= x.result.Broken; p == 0 {
		return
	}
	for one := Promise(1); one < promiseEnd; one <<= 1 {
		if p&one != 0 {
			x.result.found[one] = trail{x.from, s}
			x.result.Broken |= one
		}
	}
}

// Trace is a shortest way to a broken promise, one step a line.
func (r *Result) Trace(p Promise) string {
	t, ok := r.found[p]
	if !ok {
		return ""
	}
	last := "nothing is left to do"
	if t.step.act != nothing {
		last = t.step.String()
	}
	lines := []string{last}
	for i := t.from; i > 0; i = r.visited[i].from {
		lines = append(lines, r.visited[i].step.String())
	}
	var b strings.Builder
	for i := range lines {
		fmt.Fprintf(&b, "%3d  %s\n", i+1, lines[len(lines)-1-i])
	}
	fmt.Fprintf(&b, "     *** %v\n", p)
	return b.String()
}

// Traces are shortest ways to everything that was broken.
func (r *Result) Traces() string {
	var b strings.Builder
	for p := Promise(1); p < promiseEnd; p <<= 1 {
		b.WriteString(r.Trace(p))
	}
	return b.String()
}

// String sums the result up.
func (r *Result) String() string {
	s := fmt.Sprintf("%d states, %d steps, depth %d, %d ends", r.States, r.Steps, r.Depth, r.Ends)
	if r.Capped > 0 {
		s += fmt.Sprintf(", %d capped", r.Capped)
	}
	if !r.Whole {
		s += ", not all"
	}
	if r.Broken != 0 {
		s += "; broken: " + r.Broken.String()
	}
	return s
}

// hashes is a set of hashes. Two worlds with one hash would be taken for one: of
// ten million, that happens once in half a million runs.
type hashes struct {
	slots []uint64
	used  int
}

func newHashes() hashes { return hashes{slots: make([]uint64, 1<<12)} }

// add puts a hash in; false when it is there.
func (h *hashes) add(v uint64) bool {
	v |= 1 // 0 is an empty slot
	if h.used*3 > len(h.slots)*2 {
		old := h.slots
		h.slots, h.used = make([]uint64, 2*len(old)), 0
		for _, o := range old {
			if o != 0 {
				h.put(o)
			}
		}
	}
	return h.put(v)
}

func (h *hashes) put(v uint64) bool {
	mask := uint64(len(h.slots) - 1)
	i := v >> 1 & mask
	for ; h.slots[i] != 0; i = (i + 1) & mask {
		if h.slots[i] == v {
			return false
		}
	}
	h.slots[i] = v
	h.used++
	return true
}
