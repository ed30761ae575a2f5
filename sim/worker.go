package sim

import (
	"math/rand/v2"
	"time"

	"fairlead/agent/engine/mock"
	"fairlead/broker/arbiter"
	"fairlead/wire"
)

// worker is a machine: an agent and its engine, which live and die together.
type worker struct {
	s           *Sim
	spec        *Worker
	index       int
	up          bool
	incarnation uint64
	beats       uint64
	engines     []*engine // by rank
	fates       *mock.Fates
	cache       *cache
	jobs        map[uint64]*job // by sequence of the claim in WORK
	order       []*job          // the same, as they came
	queue       []*job          // of them, those that wait for a slot
	running     int
	holdUntil   int64
	beat, fate  timer
	deaths      []Death // still to come
	rng         *rand.Rand
	use         use
}

// newWorker makes a worker that starts when it is to join.
func newWorker(s *Sim, i int) (*worker, error) {
	spec := &s.cfg.Workers[i]
	w := &worker{
		s: s, spec: spec, index: i, jobs: map[uint64]*job{}, deaths: spec.Deaths,
		fates: mock.NewFates(spec.Engine.Failures, s.cfg.Seed+uint64(i)), rng: rand.New(rand.NewPCG(s.cfg.Seed, uint64(i)+1)),
	}
	w.beat.fire = func(*Sim) { w.pulse() }
	w.fate.fire = func(*Sim) { w.start() }
	for rank := range spec.Ranks {
		e, err := newEngine(s, w, rank)
		if err != nil {
			return nil, err
		}
		w.engines = append(w.engines, e)
	}
	s.timers.set(&w.fate, int64(spec.Join))
	return w, nil
}

// start begins an incarnation, its first heartbeat at once.
func (w *worker) start() {
	w.s.stored++ // registration
	w.up, w.incarnation, w.beats = true, w.s.stored, 0
	w.cache = newCache(w.spec.CacheTokens)
	w.use.up(w.s.now)
	w.fate.fire = func(*Sim) { w.die() }
	w.setDeath()
	w.pulse()
}

// setDeath decides when this incarnation dies, if it does: at the next set time, or
// by chance before.
func (w *worker) setDeath() {
	at := int64(never)
	for len(w.deaths) > 0 && int64(w.deaths[0].At) < w.s.now {
		w.deaths = w.deaths[1:]
	}
	if len(w.deaths) > 0 {
		at = int64(w.deaths[0].At)
	}
	if w.spec.MTBF > 0 {
		at = min(at, w.s.now+int64(w.rng.ExpFloat64()*float64(w.spec.MTBF)))
	}
	if at != never {
		w.s.timers.set(&w.fate, at)
	}
}

// die is the end of an incarnation: nobody is told.
func (w *worker) die() {
	gone := time.Duration(w.rng.ExpFloat64() * float64(w.spec.MTTR))
	if len(w.deaths) > 0 && int64(w.deaths[0].At) <= w.s.now {
		gone = w.deaths[0].For
		w.deaths = w.deaths[1:]
	}
	for _, e := range w.engines {
		e.stop()
	}
	for _, j := range w.order {
		w.s.timers.stop(&j.limit)
		w.s.timers.stop(&j.played)
		w.engine(j).model.Remove(j.seq)
	}
	w.use.down(w.s.now, w.running)
	w.s.timers.stop(&w.beat)
	w.up, w.running, w.holdUntil, w.queue, w.order = false, 0, 0, nil, nil
	clear(w.jobs)
	w.fate.fire = func(*Sim) { w.start() }
	w.s.timers.set(&w.fate, w.s.now+int64(max(gone, 1)))
}

func (w *worker) engine(j *job) *engine { return w.engines[max(0, int(j.claim.Rank))] }

// slots bounds the requests at once, of all ranks.
func (w *worker) slots() int { return w.spec.Slots * w.spec.Ranks }

// pulse sends a heartbeat, and will send the next.
func (w *worker) pulse() {
	w.s.timers.set(&w.beat, w.s.now+int64(w.s.cfg.Beat))
	w.beats++
	w.s.post(arbiter.Beat{Heartbeat: w.heartbeat()})
}

func (w *worker) heartbeat() wire.Heartbeat {
	h := wire.Heartbeat{
		Worker: w.spec.Name, Incarnation: w.incarnation, Seq: w.beats, IntervalMS: uint32(w.s.cfg.Beat.Milliseconds()),
		Healthy: true, HoldMS: uint32(max(w.holdUntil-w.s.now, 0) / 1e6), Engine: "mock", Models: w.spec.Engine.Models,
		Taints: w.spec.Taints, Ranks: uint32(w.spec.Ranks), Slots: uint32(w.spec.Slots),
		MaxBatched: uint32(w.spec.Engine.MaxBatched), Active: uint32(w.running), InFlight: make([]wire.InFlight, len(w.order)),
	}
	if !w.spec.Undeclared {
		h.Speed = w.spec.Engine.PrefillRate * w.spec.Speed
	}
	for i, j := range w.order {
		h.InFlight[i] = wire.InFlight{
			ID: j.claim.ID, Claim: j.seq, Attempt: j.claim.Attempt, Rank: j.claim.Rank, First: j.first > 0, Uncached: j.uncached(),
		}
		if j.first == 0 {
			h.PrefillTokens += uint64(j.uncached())
		}
	}
	return h
}

// receive takes a message for an incarnation; one for another is lost.
func (w *worker) receive(m *message) {
	switch {
	case !w.up || m.incarnation != w.incarnation:
	case m.command == nil:
		w.take(m)
	case m.command.Kind == wire.CommandCancel:
		if j := w.jobs[m.command.Claim]; j != nil {
			w.end(j, wire.Done{Status: wire.StatusCancelled, Reason: wire.Cancelled})
		}
	}
}

// take takes a claim in, and to a slot when one is free.
func (w *worker) take(m *message) {
	j := &job{claim: m.claim, seq: m.seq, taken: w.s.now}
	w.jobs[j.seq] = j
	w.order = append(w.order, j)
	w.queue = append(w.queue, j)
	w.fill()
}

// fill starts what waits for a slot.
func (w *worker) fill() {
	for w.running < w.slots() && len(w.queue) > 0 {
		j := w.queue[0]
		w.queue = w.queue[1:]
		w.launch(j)
	}
}

// send reports to DONE.
func (w *worker) send(j *job, d wire.Done) {
	w.s.reports++
	d.ID, d.Attempt, d.Lost, d.Claim, d.Class = j.claim.ID, j.claim.Attempt, j.claim.Lost, j.seq, j.claim.Class
	d.Worker, d.Incarnation = w.spec.Name, w.incarnation
	d.TotalMS = (w.s.now - j.taken) / int64(time.Millisecond)
	if j.first > 0 {
		d.FirstMS = max((j.first-j.taken)/int64(time.Millisecond), 1)
	}
	w.s.post(arbiter.Done{Seq: w.s.reports, Done: d})
}

// tell sends an event.
func (w *worker) tell(j *job, kind wire.EventKind) {
	w.s.post(arbiter.Progress{Event: wire.Event{
		Kind: kind, Worker: w.spec.Name, Incarnation: w.incarnation, ID: j.claim.ID, Attempt: j.claim.Attempt, Claim: j.seq,
	}})
}
