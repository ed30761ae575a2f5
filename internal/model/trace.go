package model

import (
	"strconv"
	"strings"
)

// act is the kind of a step.
type act uint8

const (
	nothing act = iota
	publish
	deadlinePasses
	ttl
	agentCrash
	brokerCrash
	recreated
	takeOver
	guardsLate
	stepDown
	readWork
	readDone
	readReq
	readLagging
	lose
	suspect
	hearAgain
	decideLoss
	arrive
	consume
	overlook
	hole
	missingClaim
	decide
	claimStored
	claimUnsure
	claimAgain
	claimDuplicate
	claimRefused
	handedOut
	hearFirst
	cancelAsked
	judgeLate
	sendVerdict
	verdictStored
	verdictRefused
	bury
	tellClient
	clearClaims
	deleteRequest
	unsay
	dropClaims
	purgeDone
	pull
	fetch
	fetchGone
	fetchStale
	token
	final
	engineFails
	engineBusy
	runLate
	told
	doneOK
	doneFailed
	doneCancelled
	doneGone
	doneReturned
	doneUnsure
	doneAgain
	ack
)

var reportAct = [...]act{ok: doneOK, failed: doneFailed, wasCancelled: doneCancelled, wasGone: doneGone, returned: doneReturned}

// sentences: %b is the broker, %w the agent, %r the request, %d the detail as a
// number, %s as a set, %i as an incarnation, %v as a verdict's reason, %c as a claim.
var sentences = [...]string{
	publish:        "client publishes %r; the store acknowledges",
	deadlinePasses: "deadline of %r passes",
	ttl:            "the store's time limit removes %r from REQ",
	agentCrash:     "agent %w CRASHES and starts anew as %i",
	brokerCrash:    "%b CRASHES",
	recreated:      "WORK is deleted and made anew",
	takeOver:       "%b takes over: writes the guards",
	guardsLate:     "%b writes the guards, after its reads",
	stepDown:       "%b learns that it was deposed",
	readWork:       "%b reads WORK: %s",
	readDone:       "%b reads DONE: %s",
	readReq:        "%b reads REQ: %s",
	readLagging:    "%b reads from a replica that lags: %s",
	lose:           "%b hears that %i is lost",
	suspect:        "%b takes %i for lost, FALSELY",
	hearAgain:      "%b hears %i again",
	decideLoss:     "%b decides about %r, which was lost with its worker",
	arrive:         "%b reads %r from REQ",
	consume:        "%b reads DONE %d, of %r",
	overlook:       "%b overlooks a hole in DONE at %d",
	hole:           "%b sees a hole in DONE: recovers anew",
	missingClaim:   "%b finds the claim of %r nowhere: recovers anew",
	decide:         "%b decides: %r to %i",
	claimStored:    "%b's claim for %r, attempt %d, is stored",
	claimUnsure:    "%b's claim for %r, attempt %d, is stored; the ANSWER IS LOST",
	claimAgain:     "%b sends the claim for %r again; the store has it",
	claimDuplicate: "%b's claim for %r, attempt %d, is taken for a duplicate",
	claimRefused:   "%b's claim for %r is refused: stands by",
	handedOut:      "%b learns that claim %d of %r is stored",
	hearFirst:      "%b hears of the first token of %r",
	cancelAsked:    "client asks %b to cancel %r",
	judgeLate:      "%b finds %r past its deadline",
	sendVerdict:    "%b sends a verdict on %r: %v",
	verdictStored:  "%b's verdict on %r is stored: %v",
	verdictRefused: "%b's verdict on %r is refused: stands by",
	bury:           "%b copies %r to DEAD",
	tellClient:     "%b tells the client of %r",
	clearClaims:    "%b deletes the claims of %r",
	deleteRequest:  "%b deletes %r from REQ",
	unsay:          "%b deletes the verdict on %r",
	dropClaims:     "%b drops superseded claims: %s",
	purgeDone:      "%b purges DONE: %s",
	pull:           "agent pulls %c of %r",
	fetch:          "agent reads the payload of %r for %c",
	fetchGone:      "agent finds %r gone for %c",
	fetchStale:     "agent is given the DELETED payload of %r for %c",
	token:          "agent sends the first token of %r (%c)",
	final:          "agent sends the final message of %r (%c)",
	engineFails:    "engine FAILS; agent sends the error of %r (%c)",
	engineBusy:     "engine is BUSY with %c of %r",
	runLate:        "deadline ends %c; agent sends the error of %r",
	told:           "agent is told to stop %c of %r",
	doneOK:         "agent stores DONE ok of %r (%c)",
	doneFailed:     "agent stores DONE failed of %r (%c)",
	doneCancelled:  "agent stores DONE cancelled of %r (%c)",
	doneGone:       "agent stores DONE gone of %r (%c)",
	doneReturned:   "agent stores DONE returned of %r (%c)",
	doneUnsure:     "agent stores DONE of %r (%c); the ANSWER IS LOST",
	doneAgain:      "agent repeats DONE of %r (%c); the store has it",
	ack:            "agent acknowledges %c of %r",
}

var reasonNames = [...]string{workerLost: "worker_lost", cancelled: "cancelled", deadline: "deadline_exceeded", exhausted: "attempts_exhausted"}

// step is one step of a trace.
type step struct {
	act                  act
	who, request, detail uint8
}

// String is the step as a sentence.
func (s step) String() string {
	reason := ""
	if int(s.detail) < len(reasonNames) {
		reason = reasonNames[s.detail]
	}
	return strings.NewReplacer(
		"%b", string(rune('A'+s.who)),
		"%w", number(s.who+1),
		"%r", "r"+number(s.request+1),
		"%d", number(s.detail),
		"%s", set(s.detail).String(),
		"%i", "incarnation "+number(s.detail),
		"%c", "claim "+number(s.detail),
		"%v", reason,
	).Replace(sentences[s.act])
}

// String lists the numbers in the set.
func (s set) String() string {
	var items []string
	for i := range uint8(8) {
		if s.has(i) {
			items = append(items, number(i))
		}
	}
	return "{" + strings.Join(items, " ") + "}"
}

func number(i uint8) string { return strconv.Itoa(int(i)) }
