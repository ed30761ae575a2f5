package client

import (
	"fairlead/wire"
)

// assembly puts the messages of one request together. It is a plain state
// machine: messages go in by add, steps come out by next. An execution is the
// run of one claim; nothing of two executions is ever shown as one result.
type assembly struct {
	id          uint64
	always      bool // another execution may start over after chunks were shown
	stored      bool // what was missed can be read again
	maxBuffered int  // bytes
	whole       bool // the reader wants the outcome alone: nothing is shown before it, and all of it is kept

	runs     map[uint64]*run // by claim
	newest   *run            // the one with the highest attempt
	view     *run            // the one whose chunks are shown
	shown    int             // chunks of view that were shown
	buffered int             // bytes kept
	reading  bool            // stored only: the store is being read
	held     []held          // stored only: messages for after that
	outcome  *run            // the first one with a final message
	err      error           // the end without a result
	gaveUp   bool            // the end is this side's, while a worker may go on
	byBroker bool            // the end is the broker's own word
	kept     bool            // and the request is kept as a dead letter
}

// run is one execution: its chunks so far, in order and complete.
type run struct {
	origin  wire.Origin
	chunks  [][]byte
	gap     int // index that came instead of the next one; 0 none
	final   *wire.ResultMessage
	payload // of the final message
}

// next is the index of the message that r waits for.
func (r *run) next() int {
	if r == nil {
		return 0
	}
	return len(r.chunks)
}

type held struct {
	m wire.ResultMessage
	payload
}

// payload is the body of a message.
type payload struct {
	data        []byte
	contentType string
}

// step is what a reader is to do next.
type step struct {
	kind  stepKind
	chunk Chunk
	err   error
}

type stepKind uint8

const (
	stepWait  stepKind = iota // nothing yet
	stepChunk                 // show chunk, which may be a restart
	stepEnd                   // the outcome is known, or err
)

// ended reports whether no further message can change the outcome.
func (a *assembly) ended() bool { return a.outcome != nil || a.err != nil }

// fail ends the request unless it has ended.
func (a *assembly) fail(err error) {
	if !a.ended() {
		a.err = err
	}
}

// giveUp ends a request that may still run.
func (a *assembly) giveUp(err error) {
	if !a.ended() {
		a.err, a.gaveUp = err, true
	}
}

// behind reports whether the store must be read again.
func (a *assembly) behind() bool { return len(a.held) > 0 && !a.ended() }

// add takes a message as it arrives. Of a stored result it is held back while
// the store is being read, when it follows a gap, and when it is final: one that
// was stored before it may have been lost on the way, and the store decides which
// final message was the first. Of an inbox, a gap is for good.
func (a *assembly) add(m wire.ResultMessage, p payload) {
	if a.stored && (a.reading || m.Final || a.skips(m)) {
		a.held = append(a.held, held{m, p})
		return
	}
	a.take(m, p)
}

// addStored takes a message read from the store, in the order of the store.
func (a *assembly) addStored(m wire.ResultMessage, p payload) {
	if a.skips(m) {
		a.held = append(a.held, held{m, p})
		return
	}
	a.take(m, p)
}

// skips reports whether messages before m have not been seen.
func (a *assembly) skips(m wire.ResultMessage) bool {
	return m.Claim != 0 && m.Index > a.runs[m.Claim].next()
}

// catchUp takes what was held back, after the store was read to its end. What
// still follows a gap or is not stored yet, as a final message may be, stays held,
// unless this was the last try.
func (a *assembly) catchUp(last bool) {
	list := a.held
	a.held, a.reading = nil, false
	for _, h := range list {
		switch {
		case last:
			a.take(h.m, h.payload)
		case h.m.Final:
			a.held = append(a.held, h)
		default:
			a.addStored(h.m, h.payload)
		}
	}
}

// take takes a message in its turn. A final message that tells of a failure may
// have the index of the chunk before it: a worker that is cut off in the middle
// of a chunk does not know whether that has arrived.
func (a *assembly) take(m wire.ResultMessage, p payload) {
	if a.ended() {
		return
	}
	if m.Claim == 0 && m.Final && m.Failure != nil {
		a.byBroker, a.kept = true, m.Failure.Reason == wire.AttemptsExhausted
		a.fail(a.failure(m, p.data))
		return
	}
	r := a.run(m.Origin)
	switch next := r.next(); {
	case !m.Final && (m.Index < next || r.gap > 0):
		return // a repetition, or of no use any more
	case m.Index > next && r.gap == 0:
		r.gap = m.Index
	}
	if m.Final {
		r.final, r.payload, a.outcome = &m, p, r
		return
	}
	if r.gap == 0 {
		r.chunks = append(r.chunks, p.data)
		a.grow(len(p.data))
	}
}

func (a *assembly) run(o wire.Origin) *run {
	r := a.runs[o.Claim]
	if r == nil {
		r = &run{origin: o}
		if a.runs == nil {
			a.runs = make(map[uint64]*run, 1)
		}
		a.runs[o.Claim] = r
	}
	if a.newest == nil || o.Attempt > a.newest.origin.Attempt {
		a.newest = r
	}
	return r
}

// full reports whether the reader must see chunks before more of them are read
// from the store; the other half is for those that come. Where chunks may have to
// be shown again, seeing them makes no room.
func (a *assembly) full() bool { return a.buffered >= a.maxBuffered/2 && !a.whole && !a.always }

func (a *assembly) grow(n int) {
	paced := a.reading && !a.always // by the one who reads the store
	if a.buffered += n; a.buffered > a.maxBuffered && !a.whole && !paced {
		e := newError(wire.ResultLost, "%d bytes wait for their reader; want at most %d: read faster or raise MaxBuffered", a.buffered, a.maxBuffered)
		e.ID = a.id
		a.giveUp(e)
	}
}

// read says how the reader wants the rest: chunk by chunk, or, unless it has
// been shown some, as a whole.
func (a *assembly) read(whole bool) { a.whole = whole && a.shown == 0 }

// next is what the reader is to do. The execution shown is the one with the
// outcome, else the newest.
func (a *assembly) next() step {
	if a.err != nil {
		return step{kind: stepEnd, err: a.err}
	}
	r := a.outcome
	if r == nil {
		r = a.newest
	}
	if r == nil || a.whole && r.final == nil && r.gap == 0 {
		return step{}
	}
	if r.final != nil && r.final.Failure != nil && r != a.view && a.shown > 0 {
		return a.end(a.failure(*r.final, r.data)) // nothing of it is worth a restart
	}
	if r != a.view {
		if s, stop := a.turn(r); stop {
			return s
		}
	}
	if a.shown < len(r.chunks) {
		return a.show(r)
	}
	return a.finish(r)
}

// turn makes r the execution that is shown.
func (a *assembly) turn(r *run) (s step, stop bool) {
	restart := a.shown > 0
	if restart && !a.always {
		e := newError(wire.WorkerLost, "attempt %d was cut short after %d chunks and attempt %d has started; ask with Retry always to be shown it",
			a.view.origin.Attempt, a.shown, r.origin.Attempt)
		e.ID, e.Attempt, e.Worker = a.id, a.view.origin.Attempt, a.view.origin.Worker
		return a.abandon(e), true
	}
	a.view, a.shown = r, 0
	return step{kind: stepChunk, chunk: Chunk{Attempt: r.origin.Attempt, Worker: r.origin.Worker, Restart: true}}, restart
}

func (a *assembly) show(r *run) step {
	c := Chunk{Index: a.shown, Data: r.chunks[a.shown], Attempt: r.origin.Attempt, Worker: r.origin.Worker}
	if !a.always { // else it may have to be shown again
		r.chunks[a.shown] = nil
		a.buffered -= len(c.Data)
	}
	a.shown++
	return step{kind: stepChunk, chunk: c}
}

// finish is the step after the last chunk of r that is there.
func (a *assembly) finish(r *run) step {
	switch {
	case r.final != nil && r.final.Failure != nil:
		return a.end(a.failure(*r.final, r.data))
	case r.gap > 0:
		e := newError(wire.ResultLost, "chunk %d of attempt %d is missing: %d came after %d chunks", len(r.chunks), r.origin.Attempt, r.gap, len(r.chunks))
		e.ID, e.Attempt, e.Worker = a.id, r.origin.Attempt, r.origin.Worker
		return a.abandon(e)
	case r.final != nil:
		return step{kind: stepEnd}
	}
	return step{}
}

func (a *assembly) end(err error) step {
	a.err = err
	return step{kind: stepEnd, err: err}
}

func (a *assembly) abandon(err error) step {
	a.gaveUp = a.outcome == nil
	return a.end(err)
}

func (a *assembly) failure(m wire.ResultMessage, body []byte) *Error {
	f := m.Failure
	return &Error{
		Reason: f.Reason, Code: f.Code, Detail: f.Detail, RetryAfter: f.RetryAfter,
		ID: m.ID, Attempt: m.Attempt, Worker: m.Worker, Body: body,
	}
}
