package drr

// AnyRank is the rank of a lane that any data-parallel rank of its worker may serve.
const AnyRank int32 = -1

// Target names a lane of a class: the shared lane, or the exact lane of one worker and rank.
type Target struct {
	// Worker is a small index that the caller gives each worker; memory grows with the
	// largest one in use. Every negative value means the shared lane.
	Worker int32
	// Rank is the data-parallel rank, or AnyRank. (w, AnyRank) is a lane of its own.
	Rank int32
}

// Shared is the lane of requests that any eligible worker may serve.
var Shared = Target{Worker: -1, Rank: AnyRank}

// MaxJump is the largest priority that makes a difference; greater values count as this one.
const MaxJump = 1e9

// Entry is one request as the scheduler sees it. Embed it by value in the record kept for the
// request: the scheduler links to it, so that queueing allocates nothing. The exported fields
// are the snapshot taken when the request was accepted; do not change them while it is queued.
type Entry struct {
	Seq      uint64  // stream sequence: names the request and breaks the last tie
	Arrival  int64   // Unix nanoseconds, the stream's own timestamp
	Deadline int64   // Unix nanoseconds; 0 = none; negative counts as long past
	Jump     float64 // priority; Enqueue clamps it to [0, MaxJump], and NaN to 0
	Strict   uint32  // tier; a larger one goes first whatever the order of the class
	Raw      uint32  // prompt tokens
	Cached   uint32  // prompt tokens found in a cache; Enqueue clamps it to Raw
	Tenant   uint32  // number below 2²⁸-1 that the caller gives each tenant, small ones first, 0 for requests that name none; see Class.Tenants

	lane   *lane // the lane it waits in, nil when not queued
	target Target
	class  int32
	gen    uint32 // counts departures, so that a node left behind in a queue is known as stale
}

// Uncached returns the prompt tokens that must be computed: Raw less Cached, never negative.
func (e *Entry) Uncached() int64 { return int64(e.Raw) - int64(min(e.Cached, e.Raw)) }

// Cost returns what a dispatch is charged before any surcharge: the uncached tokens, at least 1.
func (e *Entry) Cost() int64 { return max(1, e.Uncached()) }

// Queued reports whether the entry waits in a scheduler.
func (e *Entry) Queued() bool { return e.lane != nil }

// Class returns the index of the class that the entry was last enqueued in; it stays valid
// after the entry was dispatched or removed.
func (e *Entry) Class() int { return int(e.class) }

// Target returns the lane that the entry was last enqueued in, like Class.
func (e *Entry) Target() Target { return e.target }

func (e *Entry) generation() uint32 { return e.gen }

// clamp brings the snapshot into the ranges that the arithmetic relies on.
func (e *Entry) clamp() {
	e.Cached = min(e.Cached, e.Raw)
	if !(e.Jump > 0) { // so written because NaN is not greater either
		e.Jump = 0
	} else if e.Jump > MaxJump {
		e.Jump = MaxJump
	}
}
