package arbiter

import (
	"testing"

	"fairlead/wire"
)

// tally counts what happened, so that a simulation which never does something is noticed.
type tally struct {
	Asked, Finished, Ended, Dead, HandOuts, Returned, Requeued, Late, Cancels, Found int
	Lost, Terms, Reloads, Checks, Parked, Foretold                                   int
	Reasons                                                                          map[wire.Reason]int // of verdicts
}

func (t *tally) fields() map[string]*int {
	return map[string]*int{
		"asked": &t.Asked, "finished": &t.Finished, "ended": &t.Ended, "dead": &t.Dead, "hand-outs": &t.HandOuts,
		"returned": &t.Returned, "requeued": &t.Requeued, "late": &t.Late, "cancels": &t.Cancels, "found": &t.Found,
		"lost": &t.Lost, "terms": &t.Terms, "reloads": &t.Reloads, "checks": &t.Checks, "parked": &t.Parked, "foretold": &t.Foretold,
	}
}

func (t *tally) add(o tally) {
	mine, theirs := t.fields(), o.fields()
	for key := range mine {
		*mine[key] += *theirs[key]
	}
	for reason, n := range o.Reasons {
		t.Reasons[reason] += n
	}
}

func (t *tally) mustAllHappen(tt *testing.T) {
	for key, n := range t.fields() {
		if *n == 0 {
			tt.Errorf("the simulation never had any %s: it does not test them", key)
		}
	}
	for _, reason := range []wire.Reason{
		wire.InvalidRequest, wire.ModelNotFound, wire.QueueFull, wire.Cancelled, wire.WorkerLost, wire.AttemptsExhausted, wire.NoWorker,
		wire.WorkerGone, wire.DeadlineExceeded, wire.Displaced, wire.Shed,
	} {
		if t.Reasons[reason] == 0 {
			tt.Errorf("the simulation never ended a request with %s", reason)
		}
	}
}
