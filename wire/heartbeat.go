package wire

import "fmt"

// Heartbeat is the whole state of a worker, published on load.<worker> every
// interval and, bounded, at once when something changed. Slots and
// MaxBatchedTokens are per data-parallel rank.
type Heartbeat struct {
	V           uint8    `msgpack:"v"`
	Worker      string   `msgpack:"w"`
	Incarnation uint64   `msgpack:"inc"`
	Seq         uint64   `msgpack:"seq"` // rises with every heartbeat of an incarnation
	IntervalMS  uint32   `msgpack:"int"` // until the next one at the latest, ms
	Draining    bool     `msgpack:"drain,omitempty"`
	Healthy     bool     `msgpack:"ok"`             // the engine answers its health check
	HoldMS      uint32   `msgpack:"hold,omitempty"` // the engine said busy: hand out nothing for so long, ms
	Engine      string   `msgpack:"eng,omitempty"`
	Models      []string `msgpack:"models"`
	Taints      []string `msgpack:"taints,omitempty"`
	Ranks       uint32   `msgpack:"ranks"`           // data-parallel ranks, at least 1
	Slots       uint32   `msgpack:"slots"`           // requests at once, at least 1
	MaxBatched  uint32   `msgpack:"maxb"`            // tokens the engine batches in one prefill step, 0 unknown
	Speed       float64  `msgpack:"speed"`           // uncached prompt tokens per second as declared, 0 unknown
	Learned     float64  `msgpack:"learn,omitempty"` // the same as learned from the agent's own work, 0 unknown

	// The agent's own bookings.
	Active        uint32 `msgpack:"act"`     // requests in the engine
	PrefillTokens uint64 `msgpack:"prefill"` // uncached tokens of those whose prefill goes on
	DecodeBlocks  uint64 `msgpack:"decode"`  // KV blocks of the rest, estimated

	// What the engine itself reports; nil is unknown, which is neither idle nor full.
	EngineRunning *uint32  `msgpack:"erun,omitempty"`
	EngineWaiting *uint32  `msgpack:"ewait,omitempty"`
	EngineKV      *float64 `msgpack:"ekv,omitempty"`  // fraction of the KV cache in use, 0 to 1
	EngineAgeMS   *uint32  `msgpack:"eage,omitempty"` // since the engine was asked for these, ms; nil when it tells nothing, or told it too long ago
	EngineVersion string   `msgpack:"ever,omitempty"`
	BlockTokens   uint32   `msgpack:"kvbt,omitempty"` // size of its KV blocks, tokens, 0 unknown
	Blocks        uint64   `msgpack:"kvb,omitempty"`  // KV blocks of all its ranks, 0 unknown

	InFlight []InFlight `msgpack:"flight,omitempty"`
}

// InFlight is a claim that the agent has taken and not yet settled.
type InFlight struct {
	ID        uint64 `msgpack:"id"`
	Claim     uint64 `msgpack:"claim"` // sequence of the claim in WORK
	Attempt   uint32 `msgpack:"att"`
	Rank      int32  `msgpack:"rank"`
	First     bool   `msgpack:"first,omitempty"` // its first token has been sent
	Prefilled bool   `msgpack:"pre,omitempty"`   // its prefill has ended, as far as the agent knows; alone it means that nothing was sent
	Uncached  uint32 `msgpack:"unc"`
}

func (*Heartbeat) kind() string      { return "heartbeat" }
func (h *Heartbeat) version() *uint8 { return &h.V }

// Bounds of what one worker announces: the broker goes through it for every request.
const (
	maxAnnounced = 1024 // models, and as many taints
	maxName      = 256  // bytes, as in the header that asks for a model
)

// Check finds what no agent of ours announces.
func (h *Heartbeat) Check() error {
	if err := CheckAnnounced("models", h.Models); err != nil {
		return err
	}
	return CheckAnnounced("taints", h.Taints)
}

// CheckAnnounced tells whether a worker may announce the names of one kind.
func CheckAnnounced(kind string, names []string) error {
	if len(names) > maxAnnounced {
		return fmt.Errorf("%s: %d, want at most %d", kind, len(names), maxAnnounced)
	}
	for _, name := range names {
		if len(name) > maxName {
			return fmt.Errorf("%s: %q has %d bytes, want at most %d", kind, clip(name), len(name), maxName)
		}
	}
	return nil
}

// Registration is an agent's first message, stored in WORK on reg.<worker>; its
// sequence there is the incarnation, so that a later start always has the
// higher one.
type Registration struct {
	V         uint8  `msgpack:"v"`
	Worker    string `msgpack:"w"`
	Host      string `msgpack:"host,omitempty"`
	PID       int    `msgpack:"pid,omitempty"`
	Build     string `msgpack:"build,omitempty"`
	StartedMS int64  `msgpack:"start"` // unix milliseconds
}

func (*Registration) kind() string      { return "registration" }
func (r *Registration) version() *uint8 { return &r.V }
