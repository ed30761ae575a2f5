package wire

import "fmt"

// Claim hands one attempt of a request to one incarnation of a worker. It lies
// in WORK on work.<worker>.<incarnation> until the agent acknowledges it. It
// carries no payload and no reply subject: the agent reads both from REQ.
type Claim struct {
	V           uint8  `msgpack:"v"`
	ID          uint64 `msgpack:"id"`             // sequence of the request in REQ
	Attempt     uint32 `msgpack:"att"`            // 1, 2, …; never reused for an id
	Lost        uint32 `msgpack:"lost,omitempty"` // attempts before this one that ended with their worker
	Epoch       uint64 `msgpack:"ep"`             // of the leader that handed it out
	Class       string `msgpack:"class"`          // physical class
	Model       string `msgpack:"model,omitempty"`
	Rank        int32  `msgpack:"rank"`             // data-parallel rank, -1 any
	RemainingMS int64  `msgpack:"rem,omitempty"`    // until the deadline when handed out, ms; 0 none
	Input       uint32 `msgpack:"in"`               // tokens of the prompt, as asked or estimated
	Cached      uint32 `msgpack:"cached,omitempty"` // of them expected in the engine's prefix cache
	Output      uint32 `msgpack:"maxout,omitempty"` // most tokens to generate, 0 unknown
}

func (*Claim) kind() string      { return "claim" }
func (c *Claim) version() *uint8 { return &c.V }

// DedupID is the Nats-Msg-Id of the claim, the same for every retry of the same
// hand-out and never that of another leader's.
func (c *Claim) DedupID() string { return fmt.Sprintf("%d.%d.%d", c.Epoch, c.ID, c.Attempt) }
