package model

import "strings"

// Promise is a set of promises that a step, or the end of everything, breaks.
type Promise uint32

// The promises. The last ones are those of the end: nothing can happen any more
// but faults.
const (
	StaleWrite    Promise = 1 << iota // WORK took a claim or verdict from a broker that does not hold the guards
	AttemptReused                     // two claims carry one attempt number
	SameAttempt                       // and both were executed
	Doubled                           // a claim was stored while another was in WORK that the broker did not know
	AfterOutcome                      // a claim or verdict was stored after a verdict, or after an outcome although nobody was falsely suspected
	RanAgain                          // an engine ran such a claim
	AfterFirst                        // a claim was stored by a broker that had heard of the first token of another
	Mixed                             // a client took the result of one attempt after showing a part of another
	StaleWord                         // a deposed broker told a client what no verdict in WORK says
	EarlyDelete                       // a request was deleted that had neither an outcome nor a verdict
	FalseAlarm                        // an agent called a request gone whose client had its result
	FalseLoss                         // a request ended as worker_lost, and no worker was lost or suspected
	Untried                           // a request was given up although it had not started often enough
	BuriedTwice                       // DEAD holds a request twice
	Lost                              // at the end a request has no outcome
	Unburied                          // or was given up without an outcome, and DEAD does not have it
	CancelForgot                      // or a cancel was answered "found", and the client was not told
	ReqLeft                           // or REQ is not empty
	WorkLeft                          // or WORK
	DoneLeft                          // or DONE
	Leaked                            // or the leader still waits for a request
	promiseEnd
)

var promiseNames = []string{
	"stale write accepted", "attempt number reused", "one attempt executed twice", "two claims, unknown to each other",
	"handed out or judged after its outcome", "executed again after its outcome", "handed out after its first token was heard of",
	"attempts mixed", "word of a deposed broker", "request deleted without an outcome", "false alarm from an agent",
	"worker_lost without a loss", "given up untried", "in DEAD twice", "no outcome", "given up, and not in DEAD", "cancel forgotten",
	"REQ not empty", "WORK not empty", "DONE not empty", "leader waits for what is over",
}

// String lists the promises.
func (p Promise) String() string {
	var names []string
	for i, name := range promiseNames {
		if p&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return strings.Join(names, ", ")
}

// atEnd lists the promises that a world breaks in which nothing is left to do.
func (w *world) atEnd(requests int) (p Promise) {
	note := func(q Promise, when bool) {
		if when {
			p |= q
		}
	}
	for r := range uint8(requests) {
		told := w.heard[r]
		note(Lost, told == 0 && !w.expired.has(r)) // the client's own clock ends those that the store removed
		note(Unburied, told.has(toldExhausted) && w.buried[r] == 0 && !(w.expired|w.answered).has(r))
		note(CancelForgot, w.found.has(r) && !told.has(toldCancelled))
	}
	note(ReqLeft, w.req != 0)
	note(WorkLeft, w.inWork() != 0)
	note(DoneLeft, w.inDone() != 0)
	if b := w.leader(); b >= 0 {
		for r := range requests {
			note(Leaked, w.broker[b].request[r].state != over)
		}
	}
	return p
}
