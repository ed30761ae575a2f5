package arbiter

import (
	"time"

	"fairlead/policy"
	"fairlead/wire"
)

// Event is something that happened; see the types below for all of them.
type Event interface{ event() }

// Arrived is a message of REQ, in stream order. During recovery it also carries
// what its predecessor had asked.
type Arrived struct {
	ID      uint64
	At      time.Time // the stream's own timestamp
	Request wire.Request
	Refusal *wire.Refusal // not nil: the request could not be read
}

// ClaimFound is a claim that recovery found in WORK.
type ClaimFound struct {
	Seq         uint64
	Worker      string
	Incarnation uint64
	Claim       wire.Claim
}

// VerdictFound is a verdict that recovery found in WORK.
type VerdictFound struct {
	Seq     uint64
	Verdict wire.Verdict
}

// Recovered ends recovery: WORK, DONE and REQ have been delivered, in this
// order. From now on the arbiter decides. Saved is what the predecessor left of
// its deficits, by model; it may be nil.
type Recovered struct{ Saved Saved }

// Beat is a heartbeat.
type Beat struct{ wire.Heartbeat }

// Progress is an event of a worker.
type Progress struct{ wire.Event }

// Done is a message of DONE, in stream order.
type Done struct {
	Seq  uint64
	Done wire.Done
}

// HandedOut answers a [HandOut]: the claim is stored at Seq in WORK.
type HandedOut struct {
	ID      uint64
	Attempt uint32
	Seq     uint64
}

// VerdictStored answers a [StoreVerdict]. Verdict is as stored, ReplyTo filled in.
type VerdictStored struct {
	Seq     uint64
	Verdict wire.Verdict
}

// Ended answers an [End]: everybody is told and REQ no longer holds the request.
type Ended struct{ ID uint64 }

// DoneSynced answers a [SyncDone]: every DONE message stored before the question
// has been delivered.
type DoneSynced struct{ Token uint64 }

// ClaimChecked answers a [CheckClaim]. When not Present, every DONE message
// stored before the check has been delivered.
type ClaimChecked struct {
	ID      uint64
	Claim   uint64
	Present bool
}

// Cancel asks to end a request; it is answered by [CancelAnswer] with its Token.
type Cancel struct {
	Token uint64
	ID    uint64
}

// PolicyChanged replaces the policy.
type PolicyChanged struct{ Policy *policy.Policy }

// Tick is sent when [Arbiter.NextDeadline] has come.
type Tick struct{}

func (Arrived) event()       {}
func (ClaimFound) event()    {}
func (VerdictFound) event()  {}
func (Recovered) event()     {}
func (Beat) event()          {}
func (Progress) event()      {}
func (Done) event()          {}
func (HandedOut) event()     {}
func (VerdictStored) event() {}
func (Ended) event()         {}
func (DoneSynced) event()    {}
func (ClaimChecked) event()  {}
func (Cancel) event()        {}
func (PolicyChanged) event() {}
func (Tick) event()          {}
