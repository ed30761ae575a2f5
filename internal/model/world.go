package model

import (
	"bytes"
	"math/bits"
)

// Bounds of a world. A step that would need more is not taken, and the result
// counts the states in which that happened.
const (
	maxRequests     = 2
	maxBrokers      = 2
	maxAgents       = 2
	maxMessages     = 7 // of WORK, ever
	maxReports      = 6 // of DONE, ever
	maxIncarnations = 6
)

// set is a set of small numbers: requests, messages of WORK or DONE, incarnations.
type set uint8

func one(i uint8) set              { return 1 << i }
func (s set) has(i uint8) bool     { return s&one(i) != 0 }
func (s set) with(i uint8) set     { return s | one(i) }
func (s set) without(i uint8) set  { return s &^ one(i) }
func below(n uint8) set            { return one(n) - 1 }
func (s set) last() (uint8, bool)  { return uint8(bits.Len8(uint8(s))) - 1, s != 0 }
func (s set) minusLast() (cut set) { i, _ := s.last(); return s.without(i) }

// world is everything there is: the streams, the agents, the clients, and what
// each broker believes. It holds only bytes, so that it compares and hashes as
// one piece of memory.
type world struct {
	published set // requests that the store has acknowledged
	req       set // of those, still in REQ
	answered  set // an outcome has been in DONE
	decided   set // a verdict has been in WORK
	found     set // a cancel was answered "found"
	late      set // past their deadline
	expired   set // removed by the store's own time limit
	cancelled set // somebody asked to cancel

	leaders      uint8            // so far, 2 for more
	messages     uint8            // of WORK so far, claims and verdicts
	reports      uint8            // in DONE so far
	incarnations uint8            // so far
	alive        set              // incarnations
	agents       [maxAgents]uint8 // their present incarnations
	left         [faultKinds]uint8
	total        uint8 // faults left in all

	used   [maxRequests]set   // attempt numbers ever stored
	heard  [maxRequests]set   // what the client was told
	shown  [maxRequests]set   // attempts of which the client has seen a token
	buried [maxRequests]uint8 // copies in DEAD
	work   [maxMessages]message
	done   [maxReports]report
	broker [maxBrokers]broker
}

// message is a claim or a verdict in WORK, with what its agent makes of a claim.
// Its index stands for its sequence.
type message struct {
	request, attempt, incarnation, lost uint8
	verdict                             reason // 0: a claim
	phase                               phase
	flags                               uint8
}

const (
	present   = 1 << iota // still in WORK
	ran                   // the engine has had it
	tooLate               // stored after its request had an outcome
	duplicate             // its attempt number had been stored before
)

func (m *message) is(flag uint8) bool { return m.flags&flag != 0 }
func (m *message) claim() bool        { return m.verdict == 0 && m.attempt != 0 }

// phase is where a claim is at its agent.
type phase uint8

const (
	waiting   phase = iota // in WORK, not pulled
	pulled                 // the payload is still to be read
	executing              // in the engine
	answering              // its first token has been sent
	saidOK                 // final message sent; DONE is next
	saidFailed
	stopped    // the broker wants it no more: DONE "cancelled" is next
	notThere   // the request is gone: DONE "gone" is next
	givingBack // the engine is busy: DONE "returned" is next
	unsure     // DONE is stored, its answer was lost
	unsaid     // DONE is stored; the final message is next: only without FinalBeforeDone
	reported   // DONE is stored; the acknowledgement is next
	settled
	dead // with its incarnation
)

func (p phase) active() bool { return p >= pulled && p < settled }

// report is a message of DONE.
type report struct {
	request, attempt, claim, lost uint8
	status                        status
	present                       bool
}

// status is how an execution ended.
type status uint8

const (
	ok status = iota
	failed
	wasCancelled
	wasGone
	returned
)

// outcome reports whether a request may end with it: not when it was given back,
// and not when a broker told the agent to stop.
func (s status) outcome() bool { return s != returned && s != wasCancelled }

// final reports whether DONE keeps it until its request is gone from REQ.
func (s status) final() bool { return s != returned }

// reason is why a broker ends a request.
type reason uint8

const (
	workerLost reason = iota + 1
	cancelled
	deadline
	exhausted
)

// What a client can be told, as numbers of a set: 0 … 2 are results of attempts
// 1 … 3.
const (
	toldFailed    = 3
	toldLost      = 4
	toldCancelled = 5
	toldDeadline  = 6
	toldExhausted = 7
	results       = set(7)
)

func (r reason) told() uint8 { return toldLost + uint8(r) - 1 }

// start is the world before anything happens.
func start(sc *Scenario) world {
	w := world{left: sc.Faults, total: sc.Total}
	w.incarnations, w.alive = uint8(sc.Agents), below(uint8(sc.Agents))
	for a := range w.incarnations {
		w.agents[a] = a
	}
	return w
}

// leader is the broker that holds the guards, -1 when there is none.
func (w *world) leader() int {
	for b := range w.broker {
		if w.holds(uint8(b)) {
			return b
		}
	}
	return -1
}

// holds reports whether the guards in WORK are where a broker wrote them.
func (w *world) holds(b uint8) bool { return w.broker[b].guards == guardsStand }

// alone reports whether a broker holds the guards, and no other does.
func (w *world) alone(b uint8) bool { return w.holds(b) && !w.holds(1-b) }

// claimsOf are the claims of a request that are in WORK.
func (w *world) claimsOf(r uint8) (s set) {
	for k := range w.messages {
		if m := &w.work[k]; m.request == r && m.claim() && m.is(present) {
			s = s.with(k)
		}
	}
	return s
}

func (w *world) inWork() (s set) {
	for k := range w.messages {
		if w.work[k].is(present) {
			s = s.with(k)
		}
	}
	return s
}

func (w *world) inDone() (s set) {
	for i := range w.reports {
		if w.done[i].present {
			s = s.with(i)
		}
	}
	return s
}

func (w *world) remove(claims set) {
	for k := range w.messages {
		if claims.has(k) {
			w.work[k].flags &^= present
		}
	}
}

// tidy drops what can make no difference any more, so that equal worlds look
// equal.
func (w *world) tidy() {
	for k := range w.messages {
		m := &w.work[k]
		if m.claim() && !w.alive.has(m.incarnation) {
			m.phase = dead
		}
		if !m.is(present) && !m.phase.active() {
			m.phase = settled
			m.flags &= ran
		}
	}
	for i := range w.reports {
		if d := &w.done[i]; !d.present && w.left[ForgetIDs] == 0 && !w.broker[0].snapDone.has(i) && !w.broker[1].snapDone.has(i) {
			*d = report{}
		}
	}
	for b := range w.broker {
		w.broker[b].tidy(w)
	}
}

// canonical is a world with its brokers in one order: their names make no
// difference.
func canonical(w *world) world {
	c := *w
	if x, y := c.broker[0].bytes(), c.broker[1].bytes(); bytes.Compare(x, y) > 0 {
		c.broker[0], c.broker[1] = c.broker[1], c.broker[0]
	}
	return c
}
