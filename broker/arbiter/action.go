package arbiter

import (
	"time"

	"fairlead/wire"
)

// Action is something that the caller must do; see the types below for all of
// them, and the package's documentation for the order of duties.
type Action interface{ action() }

// HandOut asks for a claim to be stored in WORK, fenced, on the subject of the
// worker's incarnation. Answer: [HandedOut]. It occupies one guard until then.
type HandOut struct {
	Worker      string
	Incarnation uint64
	Claim       wire.Claim
	Cost        int64         // charged to the class, tokens: the uncached ones, and the estimate of the output
	Wait        time.Duration // since it was asked
}

// StoreVerdict asks for a verdict to be stored in WORK, fenced. The caller fills
// in ReplyTo from the request's headers. Answer: [VerdictStored]. It occupies
// one guard until then.
type StoreVerdict struct {
	Model   string
	Verdict wire.Verdict
}

// End asks to carry out a stored verdict: keep the request in DEAD when the
// verdict says so, tell the client, then delete the claims, the request and
// last the verdict. Answer: [Ended].
type End struct {
	Seq     uint64 // of the verdict in WORK
	Verdict wire.Verdict
	Claims  []uint64 // sequences in WORK
}

// Finish says that a request has its outcome in DONE: delete the claims that are
// listed, then the request, then its messages in DONE.
type Finish struct {
	ID       uint64
	Claims   []uint64 // sequences in WORK; an agent removes its own claim itself
	Model    string
	Class    string
	Done     wire.Done
	TrueUp   int64         // tokens that its class was charged beyond HandOut.Cost, now that its true cost is known
	Sojourn  time.Duration // since it was asked; 0 unknown
	WaitTTFT time.Duration // from being asked to the first token; 0 unknown
}

// DropClaim asks to delete a claim that a newer one has replaced, or whose
// request is over.
type DropClaim struct{ Seq uint64 }

// ReleaseDone says that a message in DONE is no longer needed whatever becomes of
// its request: its attempt number lives on in a newer claim, or the request is
// over. Messages about a request that finishes are released by Finish as well.
type ReleaseDone struct{ Seq uint64 }

// SyncDone asks to read DONE up to its present end. Answer: [DoneSynced].
type SyncDone struct{ Token uint64 }

// CheckClaim asks whether a claim is still in WORK; if not, DONE is to be read
// to its end before the answer. Answer: [ClaimChecked].
type CheckClaim struct {
	ID    uint64
	Claim uint64
}

// Command asks to send a command to one incarnation of a worker.
type Command struct {
	Worker      string
	Incarnation uint64
	Command     wire.Command
}

// CancelAnswer answers a [Cancel].
type CancelAnswer struct {
	Token uint64
	Reply wire.CancelReply
}

// Relead says that the stored state contradicts this arbiter's: the caller drops
// the arbiter and recovers anew.
type Relead struct{ Why string }

// Notice is something an operator wants counted or logged: it asks for nothing.
type Notice struct {
	Kind   NoticeKind
	Model  string
	Class  string
	Worker string
	ID     uint64
	Detail string
}

// NoticeKind is a closed list.
type NoticeKind string

// The notices.
const (
	NoticeUnknownClass NoticeKind = "unknown_class" // a class name nobody knows; the default took it, or it was refused
	NoticeWorkerJoined NoticeKind = "worker_joined"
	NoticeWorkerLost   NoticeKind = "worker_lost"
	NoticeWorkerLeft   NoticeKind = "worker_left" // it had drained
	NoticeRequeued     NoticeKind = "requeued"    // its worker was lost before its first token
	NoticeReturned     NoticeKind = "returned"    // its worker gave it back
	NoticeLateDone     NoticeKind = "late_done"   // a second outcome of a request, dropped
	NoticeSuperseded   NoticeKind = "superseded"  // an old incarnation still runs
)

func (HandOut) action()      {}
func (StoreVerdict) action() {}
func (End) action()          {}
func (Finish) action()       {}
func (DropClaim) action()    {}
func (ReleaseDone) action()  {}
func (SyncDone) action()     {}
func (CheckClaim) action()   {}
func (Command) action()      {}
func (CancelAnswer) action() {}
func (Relead) action()       {}
func (Notice) action()       {}
