package model

import "unsafe"

// role is what a broker does.
type role uint8

const (
	standby  role = iota
	reading1      // recovery: the first of its three reads is next
	reading2
	reading3
	guarding // only without GuardsFirst: the guards are next
	leading
)

// guards is what became of those that a broker wrote. The store knows; the broker
// may not.
type guards uint8

const (
	noGuards guards = iota
	guardsStand
	guardsRepeat // they are gone, and the next ones will have their sequences
)

// broker is what one broker believes. One that has been deposed goes on until it
// learns of it.
type broker struct {
	role     role
	guards   guards
	snapWork set // what recovery read
	snapDone set
	snapReq  set
	seenReq  uint8 // requests read so far
	seenDone uint8 // messages of DONE read so far
	lost     set   // incarnations that it takes for lost
	drop     set   // messages of WORK that it is about to delete
	left     set   // claims that it leaves to their agents
	free     set   // messages of DONE that nobody needs
	newer    set   // claims that a newer leader has stored; it does not know them
	gone     set   // requests that REQ's leader confirmed gone
	request  [maxRequests]request
}

// bytes are the broker's memory: it consists of bytes.
func (b *broker) bytes() []byte { return unsafe.Slice((*byte)(unsafe.Pointer(b)), unsafe.Sizeof(*b)) }

// state is where a request is in the arbiter.
type state uint8

const (
	unknown state = iota
	queued
	placing   // its claim is under way
	retrying  // so it is again: the claim is stored, and the answer was lost
	stored    // its claim is in WORK, and the answer under way
	running   // claimed
	judged    // a verdict waits for a guard
	sentenced // the verdict is under way
	ending    // the verdict is stored
	over      // forgotten
)

func (s state) placed() bool { return s == placing || s == retrying || s == stored }

// job is what is being carried out for a request outside the arbiter.
type job uint8

const (
	idle     job = iota
	burying      // DEAD is next
	telling      // the client is next
	clearing     // its claims are next
	deleting     // the request itself is next
	unsaying     // the verdict is next
	clean        // nothing is left
)

// request is what a broker knows of a request.
type request struct {
	state   state
	job     job
	attempt uint8  // highest handed out
	lost    uint8  // attempts lost
	reason  reason // of its verdict; of one to come, while its claim is being stored
	// The booking of the present attempt; it outlives the request until the claim
	// has left WORK.
	incarnation uint8
	claim       uint8 // one more than its index in WORK; 0 not known
	flags       uint8
	older       set // claims to delete when the next one is stored
	kept        set // messages of DONE to release then
	clear       set // claims that the job deletes
}

const (
	finished = 1 << iota // it ended while its claim was being stored
	won                  // with that attempt
	losing               // its worker was lost; DONE is to be read before anything follows
	orphaned             // its worker was lost while its claim was being stored
	handed               // back, while its claim was being stored
	first                // the first token of an attempt was heard of
	resumed              // the booking comes from recovery
)

func (q *request) is(flag uint8) bool { return q.flags&flag != 0 }

// booked reports whether the request has a present attempt.
func (q *request) booked() bool { return q.state.placed() || q.claim != 0 }

// holds reports whether a message of WORK is the present claim.
func (q *request) holds(k uint8) bool { return q.claim == k+1 }

// own is the present claim, as a set.
func (q *request) own() set {
	if q.claim == 0 {
		return 0
	}
	return one(q.claim - 1)
}

// unbook ends the present attempt.
func (q *request) unbook() {
	q.claim, q.incarnation = 0, 0
	q.flags &= first
}

// judge ends a request for a reason of the broker's own.
func (q *request) judge(why reason) { q.state, q.reason = judged, why }

// begin starts carrying out what ends a request: claims are those to delete.
func (q *request) begin(j job, claims set) {
	q.job, q.clear = j, claims
	q.older = 0
}

// tidy drops what can make no difference any more.
func (b *broker) tidy(w *world) {
	if b.role == standby {
		*b = broker{}
		return
	}
	work, done := w.inWork(), w.inDone()
	b.drop &= work
	b.left &= work
	b.free &= done
	for r := range b.request {
		q := &b.request[r]
		if q.state == over && q.job == clean {
			*q = request{state: over, job: clean}
		}
		q.kept &= done
		q.older &= work
		q.clear &= work
	}
}
