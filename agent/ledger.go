package agent

import (
	"slices"
	"time"

	"fairlead/wire"
)

// phase is where a claim is on its way through the agent.
type phase int

const (
	waiting  phase = iota // for a slot
	running               // its job fetches the request or is in the engine
	settling              // the engine is done with it; DONE or acknowledgement are under way
)

// entry is a claim that the agent has taken and not yet settled. The loop owns
// it; its job works on copies.
type entry struct {
	claim     wire.Claim
	seq       uint64 // of the claim in WORK
	taken     time.Time
	phase     phase
	prefilled bool // its prefill has ended, as far as we know
	first     bool // its first token is on its way to the client
	job       *job
}

func (e *entry) uncached() uint32 { return e.claim.Input - min(e.claim.Cached, e.claim.Input) }

// ledger is what the agent has in hand. It belongs to the loop.
type ledger struct {
	entries map[uint64]*entry // by claim sequence
	queue   []*entry          // waiting, in order of arrival
	running int               // entries in that phase
	// settled remembers claims whose acknowledgement was confirmed, in a ring: a
	// delivery that crossed it must not run again.
	settled map[uint64]bool
	ring    []uint64
	next    int
}

// remembered is how many settled claims are kept in mind.
const remembered = 4096

func newLedger() *ledger {
	return &ledger{entries: map[uint64]*entry{}, settled: map[uint64]bool{}, ring: make([]uint64, remembered)}
}

// add takes a new claim in.
func (l *ledger) add(e *entry) {
	l.entries[e.seq] = e
	l.queue = append(l.queue, e)
}

// start takes the longest waiting claim to a slot; nil when there is none.
func (l *ledger) start() *entry {
	if len(l.queue) == 0 {
		return nil
	}
	e := l.queue[0]
	l.queue = l.queue[1:]
	e.phase = running
	l.running++
	return e
}

// withdraw takes a waiting claim out of the queue: it gets no slot.
func (l *ledger) withdraw(e *entry) {
	l.queue = slices.DeleteFunc(l.queue, func(q *entry) bool { return q == e })
	e.phase = settling
}

// settle moves a claim on when the engine is done with it.
func (l *ledger) settle(e *entry) {
	if e.phase == running {
		e.phase = settling
		l.running--
	}
}

// remove takes a claim out.
func (l *ledger) remove(e *entry) {
	l.settle(e)
	delete(l.entries, e.seq)
}

// remember keeps a claim in mind whose DONE is stored: when it is delivered
// again, it is acknowledged without another word.
func (l *ledger) remember(e *entry) {
	delete(l.settled, l.ring[l.next])
	l.ring[l.next] = e.seq
	l.settled[e.seq] = true
	l.next = (l.next + 1) % len(l.ring)
}

// find returns the execution that a command means; nil when it is not here.
func (l *ledger) find(c *wire.Command) *entry {
	if c.Claim != 0 {
		return l.entries[c.Claim]
	}
	for _, e := range l.entries {
		if e.claim.ID == c.ID && e.claim.Attempt == c.Attempt {
			return e
		}
	}
	return nil
}
