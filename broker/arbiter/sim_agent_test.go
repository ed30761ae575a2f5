package arbiter

import (
	"slices"
	"time"

	"fairlead/wire"
)

// agent is one worker's machine: it starts, dies and starts again.
type agent struct {
	w           *world
	name        string
	alive       bool
	incarnation uint64
	muted       time.Duration // its heartbeats are lost until then
	beat        wire.Heartbeat
	waiting     []uint64 // claims offered and not taken
	jobs        []*job
}

// job is one claim that an agent has taken.
type job struct {
	claim ClaimFound
	first bool
	over  bool // nothing runs any more; DONE or the acknowledgement is under way
}

func (a *agent) start() {
	w := a.w
	w.store.seq++
	a.alive, a.incarnation, a.jobs, a.waiting = true, w.store.seq, nil, nil
	a.beat = wire.Heartbeat{
		Worker: a.name, Incarnation: a.incarnation, IntervalMS: 1000, Healthy: !w.chance(5), Draining: w.chance(10),
		Models: pick(w, []string{"m"}, []string{"m"}, []string{"m", "n"}), Ranks: uint32(1 + w.rng.IntN(2)), Slots: uint32(1 + w.rng.IntN(3)),
		MaxBatched: uint32(w.rng.IntN(2) * 2048), Speed: float64(w.rng.IntN(3) * 1000),
	}
	if w.chance(3) {
		a.beat.Taints = []string{"big"}
	}
	a.heartbeat(a.incarnation)
	if w.chance(2) {
		w.after(w.upTo(20*time.Second), func() { a.die(a.incarnation) })
	}
}

// die is the end of a process; another one starts after a while.
func (a *agent) die(incarnation uint64) {
	if !a.alive || a.incarnation != incarnation {
		return
	}
	a.alive = false
	for _, j := range a.jobs {
		a.w.store.fate[j.claim.Claim.ID].lost++
	}
	a.w.after(a.w.upTo(8*time.Second), a.start)
}

func (a *agent) is(incarnation uint64) bool { return a.alive && a.incarnation == incarnation }

// heartbeat reports, now and then for ever.
func (a *agent) heartbeat(incarnation uint64) {
	if !a.is(incarnation) {
		return
	}
	w := a.w
	a.change()
	a.beat.Seq++
	b := a.beat
	a.measure(&b)
	for _, j := range a.jobs {
		b.InFlight = append(b.InFlight, wire.InFlight{ID: j.claim.Claim.ID, Attempt: j.claim.Claim.Attempt, Claim: j.claim.Seq, First: j.first})
	}
	if w.chance(25) {
		a.muted = w.now + w.upTo(8*time.Second)
	}
	if w.now >= a.muted || w.calm {
		w.soon(func() { w.step(Beat{b}) })
	}
	w.after(100*time.Millisecond+w.upTo(900*time.Millisecond), func() { a.heartbeat(incarnation) })
}

// measure fills in what the engine reports, if it does.
func (a *agent) measure(b *wire.Heartbeat) {
	w := a.w
	if w.calm {
		return // nothing is overloaded for ever
	}
	if w.chance(2) {
		b.EngineKV = new(w.rng.Float64())
	}
	if w.chance(2) {
		b.EngineWaiting = new(uint32(w.rng.IntN(8)))
	}
	b.PrefillTokens = uint64(w.rng.IntN(2 * mostTokens))
}

// change is a new mood, rarely.
func (a *agent) change() {
	if a.w.calm {
		a.beat.Draining, a.beat.Healthy, a.beat.HoldMS = false, true, 0
		return
	}
	switch a.w.rng.IntN(40) {
	case 0:
		a.beat.Healthy = !a.beat.Healthy
	case 1:
		a.beat.Draining = !a.beat.Draining
	case 2:
		a.beat.HoldMS = uint32(a.w.rng.IntN(3000))
	case 3:
		a.beat.Slots = uint32(1 + a.w.rng.IntN(3))
	case 4:
		a.beat.Ranks = uint32(1 + a.w.rng.IntN(2))
	default:
		a.beat.HoldMS = 0
	}
}

// offer shows a claim to the consumer of its subject.
func (w *world) offer(seq uint64) {
	c, ok := w.store.claims[seq]
	if !ok {
		return
	}
	for _, a := range w.agents {
		if a.name == c.Worker && a.is(c.Incarnation) {
			a.waiting = append(a.waiting, seq)
			a.pull()
		}
	}
}

// pull takes claims while there are free slots.
func (a *agent) pull() {
	for len(a.waiting) > 0 && len(a.jobs) < int(a.beat.Slots*a.beat.Ranks) {
		seq := a.waiting[0]
		a.waiting = a.waiting[1:]
		if c, ok := a.w.store.claims[seq]; ok {
			a.take(&job{claim: c})
		}
	}
}

func (a *agent) take(j *job) {
	w, inc, id := a.w, a.incarnation, j.claim.Claim.ID
	a.jobs = append(a.jobs, j)
	if _, asked := w.store.req[id]; !asked {
		a.end(j, wire.StatusGone)
		return
	}
	a.tell(j, wire.EventStarted)
	if w.chance(8) {
		w.soon(func() { a.endIf(inc, j, wire.StatusReturned) })
		return
	}
	w.after(w.upTo(2*time.Second), func() {
		if !a.is(inc) || j.over {
			return
		}
		j.first = true
		a.tell(j, wire.EventFirstToken)
		w.after(w.upTo(4*time.Second), func() {
			if w.chance(4) {
				a.endIf(inc, j, wire.StatusError)
			} else {
				a.endIf(inc, j, wire.StatusOK)
			}
		})
	})
}

// tell sends an event, which may be lost.
func (a *agent) tell(j *job, kind wire.EventKind) {
	if a.w.chance(4) {
		return
	}
	e := wire.Event{Kind: kind, Worker: a.name, Incarnation: a.incarnation, ID: j.claim.Claim.ID, Attempt: j.claim.Claim.Attempt, Claim: j.claim.Seq}
	a.w.soon(func() { a.w.step(Progress{e}) })
}

func (a *agent) endIf(incarnation uint64, j *job, st wire.Status) {
	if a.is(incarnation) && !j.over {
		a.end(j, st)
	}
}

// end stores DONE and then removes the claim; the agent may die before either.
func (a *agent) end(j *job, st wire.Status) {
	w, inc := a.w, a.incarnation
	j.over = true
	c := &j.claim.Claim
	d := wire.Done{
		ID: c.ID, Attempt: c.Attempt, Lost: c.Lost, Claim: j.claim.Seq, Worker: a.name, Incarnation: inc, Class: c.Class, Status: st,
	}
	if st == wire.StatusReturned {
		d.RetryAfterMS = int64(w.rng.IntN(2) * w.rng.IntN(3000))
	}
	d.FirstMS = w.rng.Int64N(2000)
	d.TotalMS = d.FirstMS + w.rng.Int64N(2000)
	if st == wire.StatusOK || w.chance(2) {
		d.Usage = pick(w, wire.Usage{}, wire.Usage{Prompt: int64(c.Input), Cached: -1, Output: w.rng.Int64N(mostOutput)},
			wire.Usage{Prompt: int64(c.Input), Cached: w.rng.Int64N(int64(c.Input) + 1), Output: w.rng.Int64N(mostOutput)})
	}
	w.soon(func() {
		if !a.is(inc) {
			return
		}
		w.store.done = append(w.store.done, Done{Seq: uint64(len(w.store.done) + 1), Done: d})
		w.soon(w.readDone)
		w.soon(func() {
			if !a.is(inc) {
				return
			}
			w.deleteClaim(j.claim.Seq)
			a.jobs = slices.DeleteFunc(a.jobs, func(x *job) bool { return x == j })
			a.pull()
		})
	})
}

// command reaches an agent, or is lost.
func (w *world) command(act Command) {
	if w.chance(4) {
		return
	}
	w.soon(func() {
		for _, a := range w.agents {
			if a.name == act.Worker && a.is(act.Incarnation) {
				a.obey(act.Command)
			}
		}
	})
}

func (a *agent) obey(c wire.Command) {
	if c.Kind == wire.CommandStop {
		a.w.fail("%s@%d is told to stop, and is the newest", a.name, a.incarnation)
	}
	for _, j := range a.jobs {
		if j.claim.Seq == c.Claim && !j.over {
			a.end(j, wire.StatusCancelled)
		}
	}
}
