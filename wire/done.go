package wire

import "fmt"

// Status is how an attempt ended.
type Status string

// The ways an attempt ends.
const (
	StatusOK        Status = "ok"        // the result went to the client
	StatusError     Status = "error"     // an error went to the client; Reason says which
	StatusCancelled Status = "cancelled" // told to stop by a broker, which has an outcome of its own; never one itself
	StatusReturned  Status = "returned"  // given back: engine busy, or the agent is leaving; the request runs again
	StatusGone      Status = "gone"      // the request is no longer in REQ: somebody finished it
)

// Final reports whether the status ends the request, and not only the attempt.
func (s Status) Final() bool { return s != StatusReturned }

// Done is an agent's report about one attempt, published on done.<worker> into
// DONE after the final message and before the claim is acknowledged.
type Done struct {
	V            uint8  `msgpack:"v"`
	ID           uint64 `msgpack:"id"`
	Attempt      uint32 `msgpack:"att"`
	Lost         uint32 `msgpack:"lost,omitempty"` // as in the claim
	Claim        uint64 `msgpack:"claim"`          // sequence of the claim in WORK: names the execution
	Worker       string `msgpack:"w"`
	Incarnation  uint64 `msgpack:"inc"`
	Class        string `msgpack:"class"`
	Status       Status `msgpack:"st"`
	Reason       Reason `msgpack:"reason,omitempty"`
	Error        string `msgpack:"err,omitempty"`
	RetryAfterMS int64  `msgpack:"retry,omitempty"` // returned: the engine is busy for so long, ms
	Usage        Usage  `msgpack:"use"`
	FirstMS      int64  `msgpack:"first,omitempty"` // from taking the claim to the first token, ms
	TotalMS      int64  `msgpack:"total,omitempty"` // from taking the claim to the end, ms
}

// Usage counts tokens as the engine reports them. Cached is -1 when the engine
// does not say.
type Usage struct {
	Prompt int64 `msgpack:"p" json:"prompt_tokens"`
	Cached int64 `msgpack:"c" json:"cached_tokens"`
	Output int64 `msgpack:"o" json:"output_tokens"`
}

func (*Done) kind() string      { return "done" }
func (d *Done) version() *uint8 { return &d.V }

// DedupID is the Nats-Msg-Id of the report: one per execution.
func (d *Done) DedupID() string { return fmt.Sprintf("%d.%d.%s", d.Claim, d.Attempt, d.Status) }
