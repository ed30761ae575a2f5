package sim

import (
	"fairlead/agent/engine/mock"
)

// engine runs the model of one rank: each step's time passes before what it brought
// is handed out.
type engine struct {
	s     *Sim
	w     *worker
	model *mock.Model
	step  timer
	busy  bool
	out   []mock.Progress // of the step under way
	leap  leap
	began int64 // of the step or leap under way
	work  int64 // time spent in steps that are over, ns
}

// leap is a row of equal steps that brings nothing new.
type leap struct{ each, steps int64 }

func newEngine(s *Sim, w *worker, rank int) (*engine, error) {
	m, err := mock.NewModel(w.spec.engine(s.cfg.Seed + uint64(w.index)<<16 + uint64(rank)))
	if err != nil {
		return nil, err
	}
	e := &engine{s: s, w: w, model: m}
	e.step.fire = func(*Sim) { e.passed() }
	return e, nil
}

// add lets a job in: it takes part from the next step on.
func (e *engine) add(key uint64, job mock.Job) {
	e.land()
	e.model.Add(key, job)
	e.begin()
}

// remove takes a job out, if it is there.
func (e *engine) remove(key uint64) {
	e.land()
	e.model.Remove(key)
	e.begin()
}

// begin goes on when nothing is under way.
func (e *engine) begin() {
	if e.busy {
		return
	}
	e.began = e.s.now
	if n, each := e.model.Alike(); n > 1 {
		e.busy, e.leap = true, leap{each: int64(each), steps: n}
		e.s.timers.set(&e.step, e.s.now+n*int64(each))
		return
	}
	took, out, ok := e.model.Step()
	if e.busy = ok; ok {
		e.out = out
		e.s.timers.set(&e.step, e.s.now+int64(took))
	}
}

// land ends a leap with the step that is under way, because what comes after it is
// not foretold any more.
func (e *engine) land() {
	l := e.leap
	if l.steps == 0 {
		return
	}
	n := min(l.steps, (e.s.now-e.began)/max(l.each, 1)+1)
	e.model.Skip(n)
	e.leap = leap{}
	e.s.timers.set(&e.step, e.began+n*l.each)
}

// passed ends the step or leap under way.
func (e *engine) passed() {
	if e.leap.steps > 0 {
		e.model.Skip(e.leap.steps)
		e.leap = leap{}
	}
	e.work += e.s.now - e.began
	e.began = e.s.now
	out := e.out
	e.out = nil
	for _, p := range out { // busy still: what comes meanwhile waits for the next step
		e.w.progress(p)
	}
	e.busy = false
	e.begin()
}

// spent is the time in steps by an instant.
func (e *engine) spent(now int64) int64 {
	if e.busy && now > e.began {
		return e.work + now - e.began
	}
	return e.work
}

// stop ends whatever is under way, for good.
func (e *engine) stop() {
	e.s.timers.stop(&e.step)
	if e.busy {
		e.work += e.s.now - e.began
	}
	e.busy, e.out, e.leap = false, nil, leap{}
}
