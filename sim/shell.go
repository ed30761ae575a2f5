package sim

import (
	"fmt"
	"time"

	"fairlead/broker/arbiter"
	"fairlead/wire"
)

// Happening is something that became of a request.
type Happening struct {
	At      time.Duration
	Kind    Kind
	Request int         // index into Config.Requests
	Worker  int         // index into Config.Workers; of HandedOut, FirstToken and what a worker ended
	Reason  wire.Reason // of Refused and Failed
}

// Kind says what happened.
type Kind uint8

// The kinds.
const (
	Asked      Kind = iota // it has arrived
	HandedOut              // a worker was chosen
	FirstToken             // its first token was sent
	Returned               // it is back in its lane: given back by its worker, or lost with it
	Completed              // it ended well
	Failed                 // it ended with an error of its worker
	Refused                // the broker ended it
)

// do carries out an action, as the live broker's shell does. It never steps the
// arbiter: answers are messages.
func (s *Sim) do(act arbiter.Action) {
	switch act := act.(type) {
	case arbiter.HandOut:
		s.handOut(act)
	case arbiter.StoreVerdict:
		s.stored++
		s.post(arbiter.VerdictStored{Seq: s.stored, Verdict: act.Verdict})
		s.refused(&act.Verdict)
	case arbiter.End:
		s.post(arbiter.Ended{ID: act.Verdict.ID})
	case arbiter.Finish:
		s.finish(&act)
	case arbiter.SyncDone: // what is in DONE is on its way already, and messages keep their order
		s.post(arbiter.DoneSynced(act))
	case arbiter.CheckClaim:
		s.post(arbiter.ClaimChecked{ID: act.ID, Claim: act.Claim, Present: s.claimed(act.Claim)})
	case arbiter.Command:
		if w := s.byName[act.Worker]; w != nil {
			s.wire.push(message{at: s.now + s.hop, worker: w, incarnation: act.Incarnation, command: &act.Command})
		}
	case arbiter.Notice:
		s.notice(&act)
	case arbiter.Relead:
		s.broken = fmt.Errorf("at %s the arbiter would recover anew: %s", time.Duration(s.now), act.Why)
	}
}

// handOut stores a claim: the arbiter is told so, and its worker finds it.
func (s *Sim) handOut(act arbiter.HandOut) {
	s.stored++
	i, w := index(act.Claim.ID), s.byName[act.Worker]
	l := &s.lives[i]
	s.meter.handedOut(s.now-int64(s.cfg.Requests[i].At), l, uncached(&act.Claim), act.Cost)
	if l.handed < 0 {
		l.handed = s.now
	}
	s.observe(Happening{Kind: HandedOut, Request: i, Worker: w.index})
	s.post(arbiter.HandedOut{ID: act.Claim.ID, Attempt: act.Claim.Attempt, Seq: s.stored})
	s.wire.push(message{at: s.now + s.hop, worker: w, incarnation: act.Incarnation, seq: s.stored, claim: act.Claim})
}

// uncached is what a claim costs: an attempt costs a token at least.
func uncached(c *wire.Claim) int64 { return max(1, int64(c.Input)-int64(c.Cached)) }

// refused ends a request by the broker's own decision.
func (s *Sim) refused(v *wire.Verdict) {
	i := index(v.ID)
	s.end(i)
	s.meter.failed(&s.lives[i], v.Reason)
	s.observe(Happening{Kind: Refused, Request: i, Reason: v.Reason})
}

// finish ends a request by what its worker reported.
func (s *Sim) finish(act *arbiter.Finish) {
	i := index(act.ID)
	s.end(i)
	s.lives[i].correct(float64(act.TrueUp))
	h := Happening{Kind: Completed, Request: i, Worker: s.byName[act.Done.Worker].index, Reason: act.Done.Reason}
	if act.Done.Status == wire.StatusOK {
		s.meter.completed(s.now, &s.cfg.Requests[i], &s.lives[i], act.Done.Usage)
	} else {
		h.Kind = Failed
		s.meter.failed(&s.lives[i], act.Done.Reason)
	}
	s.observe(h)
}

// end counts a request as over.
func (s *Sim) end(i int) {
	if s.lives[i].ended {
		s.broken = fmt.Errorf("request %d has ended twice", i)
	}
	s.lives[i].ended = true
	s.open--
	s.last = s.now
}

// notice takes in what asks for nothing.
func (s *Sim) notice(n *arbiter.Notice) {
	switch n.Kind {
	case arbiter.NoticeRequeued, arbiter.NoticeReturned:
		i := index(n.ID)
		s.meter.putBack(&s.lives[i])
		s.observe(Happening{Kind: Returned, Request: i})
	case arbiter.NoticeUnknownClass:
		s.meter.unknown++
	case arbiter.NoticeWorkerLost:
		s.meter.lost++
	}
}

// claimed reports whether a claim is in WORK, at its worker.
func (s *Sim) claimed(seq uint64) bool {
	for _, w := range s.fleet {
		if w.jobs[seq] != nil {
			return true
		}
	}
	return false
}
