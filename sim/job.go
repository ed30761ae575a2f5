package sim

import (
	"slices"
	"time"

	"fairlead/agent/engine/mock"
	"fairlead/wire"
)

// job is one claim that a worker has.
type job struct {
	claim   wire.Claim
	seq     uint64 // of the claim in WORK; names the job in the engine
	taken   int64
	first   int64 // when its first token was sent; 0 before
	slot    bool  // it has one
	modeled bool  // the engine's model has it
	dies    bool  // in the middle of its answer
	cached  uint32
	limit   timer // deadline, or the end of patience with a hanging engine
	played  timer // next instant of a recorded attempt
}

func (j *job) uncached() uint32 { return j.claim.Input - min(j.claim.Cached, j.claim.Input) }

// launch runs a job in a slot.
func (w *worker) launch(j *job) {
	s := w.s
	w.use.load(s.now, w.running)
	w.running++
	j.slot = true
	i := index(j.claim.ID)
	if s.lives[i].ended { // its request was finished elsewhere
		w.end(j, wire.Done{Status: wire.StatusGone})
		return
	}
	r := &s.cfg.Requests[i]
	if a := w.recorded(j, r); a != nil {
		w.tell(j, wire.EventStarted)
		w.play(j, r, a)
		return
	}
	fate := w.fates.Next()
	if fate.Kind == mock.Refuse {
		w.refuse(j, fate.RetryAfter)
		return
	}
	w.setLimit(j, fate.Kind)
	j.cached = w.cache.admit(r)
	w.use.prefilled += int64(r.Input - j.cached)
	j.dies = fate.Kind == mock.Die
	output := int64(max(r.Output, 1))
	if j.dies {
		output = (output + 1) / 2
	}
	w.tell(j, wire.EventStarted)
	j.modeled = true
	w.engine(j).add(j.seq, mock.Job{
		Uncached: int64(r.Input - j.cached), Output: output, Slow: fate.Kind == mock.Slow, Stuck: fate.Kind == mock.Hang,
	})
}

// setLimit arms the timer of a job that has a deadline or will hang.
func (w *worker) setLimit(j *job, fate mock.FailureKind) {
	at, reason := int64(never), wire.EngineError
	if fate == mock.Hang {
		at = w.s.now + int64(w.s.cfg.AttemptTimeout)
	}
	if rem := j.claim.RemainingMS; rem > 0 {
		if end := j.taken + rem*int64(time.Millisecond); end < at {
			at, reason = end, wire.DeadlineExceeded
		}
	}
	if at == never {
		return
	}
	j.limit.fire = func(*Sim) { w.end(j, wire.Done{Status: wire.StatusError, Reason: reason}) }
	w.s.timers.set(&j.limit, max(at, w.s.now))
}

// refuse gives a job back because the engine says busy.
func (w *worker) refuse(j *job, after time.Duration) {
	if after == 0 {
		after = time.Second
	}
	w.holdUntil = max(w.holdUntil, w.s.now+int64(after))
	w.end(j, wire.Done{Status: wire.StatusReturned, RetryAfterMS: after.Milliseconds()})
	w.pulse()
}

// progress takes in what a step of the engine brought for a job.
func (w *worker) progress(p mock.Progress) {
	j := w.jobs[p.ID]
	if j == nil || p.Produced == 0 { // an answer that streams shows nothing at the end of its prefill
		return
	}
	if j.first == 0 {
		w.firstToken(j)
	}
	j.modeled = !p.Done
	switch {
	case !p.Done:
	case j.dies:
		w.end(j, wire.Done{Status: wire.StatusError, Reason: wire.EngineError, Usage: w.usage(j, p.Produced)})
	default:
		w.end(j, wire.Done{Status: wire.StatusOK, Usage: w.usage(j, p.Produced)})
	}
}

func (w *worker) usage(j *job, output int64) wire.Usage {
	w.use.output += output
	return wire.Usage{Prompt: int64(j.claim.Input), Cached: int64(j.cached), Output: output}
}

func (w *worker) firstToken(j *job) {
	j.first = max(w.s.now, 1)
	i := index(j.claim.ID)
	if l := &w.s.lives[i]; l.first < 0 {
		l.first = w.s.now
		w.s.meter.first(w.s.now, &w.s.cfg.Requests[i], l)
		w.s.observe(Happening{Kind: FirstToken, Request: i, Worker: w.index})
	}
	w.tell(j, wire.EventFirstToken)
}

// end settles a claim: DONE is stored, the claim is gone, its slot is free.
func (w *worker) end(j *job, d wire.Done) {
	w.s.timers.stop(&j.limit)
	w.s.timers.stop(&j.played)
	if j.modeled {
		w.engine(j).remove(j.seq)
	}
	is := func(x *job) bool { return x == j }
	delete(w.jobs, j.seq)
	w.order = slices.DeleteFunc(w.order, is)
	if j.slot {
		w.use.load(w.s.now, w.running)
		w.running--
	} else {
		w.queue = slices.DeleteFunc(w.queue, is)
	}
	w.send(j, d)
	w.fill()
}

// recorded is the recorded attempt that a job plays back; nil when the model runs it.
func (w *worker) recorded(j *job, r *Request) *Attempt {
	if n := int(j.claim.Attempt) - 1; w.s.cfg.Times != Modelled && n < len(r.Attempts) && r.Attempts[n].End > 0 {
		return &r.Attempts[n]
	}
	return nil
}

// play lets a job take as long as it did.
func (w *worker) play(j *job, r *Request, a *Attempt) {
	w.setLimit(j, "")
	w.use.prefilled += int64(j.uncached())
	if a.First > 0 && a.Status == wire.StatusOK {
		j.played.fire = func(*Sim) { w.firstToken(j); w.playEnd(j, r, a) }
		w.s.timers.set(&j.played, w.when(j, a, a.First))
		return
	}
	w.playEnd(j, r, a)
}

func (w *worker) playEnd(j *job, r *Request, a *Attempt) {
	j.played.fire = func(*Sim) {
		d := wire.Done{Status: a.Status, Reason: a.Reason}
		if a.Status == wire.StatusOK {
			d.Usage = w.usage(j, int64(max(r.Output, 1)))
			d.Usage.Cached = a.Cached
		}
		w.end(j, d)
	}
	w.s.timers.set(&j.played, w.when(j, a, a.End))
}

// when is the time of a recorded instant of an attempt, in this run.
func (w *worker) when(j *job, a *Attempt, at time.Duration) int64 {
	if w.s.cfg.Times == Instants {
		return max(int64(at), w.s.now)
	}
	return max(j.taken+int64(at-a.Handed), w.s.now)
}
