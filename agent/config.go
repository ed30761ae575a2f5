package agent

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"fairlead/agent/engine"
	"fairlead/wire"
)

// Config is an agent. A zero field takes its default.
type Config struct {
	// Conn is a connection to use; the agent does not close it. It should
	// reconnect for ever. Without it the agent connects to URL itself.
	Conn *nats.Conn
	// URL is where NATS is, several with commas. Default nats://127.0.0.1:4222.
	URL string
	// Options are added to those of the agent's own connection.
	Options []nats.Option
	// APIPrefix is what JetStream's API is called in the agent's account. Default
	// $JS.API.
	APIPrefix string
	// Names are the subjects and streams.
	Names wire.Names
	// Worker is the stable id of this worker: 1 to 64 of A-Z a-z 0-9 _ -. Required.
	Worker string
	// Engine does the work. Required; the agent does not close it.
	Engine engine.Engine
	// Models fixes the names to announce; by default the engine is asked.
	Models []string
	// Taints restrict which requests the broker sends here.
	Taints []string
	// Ranks are the engine's data-parallel ranks, Slots the requests that each
	// works on at once. Defaults 1 and 8.
	Ranks, Slots int
	// MaxBatched is how many tokens the engine batches in one prefill step; 0 unknown.
	MaxBatched uint32
	// Speed is in uncached prompt tokens per second, of one rank; 0 is learned from
	// streams.
	Speed float64
	// BlockTokens is the size of the engine's KV blocks, in tokens; 0 believes the
	// engine, and takes 16 while it does not tell.
	BlockTokens int
	// ReplyPrefixes restrict where results may go. Default
	// [wire.DefaultReplyPrefixes]; an empty list that is not nil allows any.
	ReplyPrefixes []string
	// Heartbeat is the time between heartbeats. Default 1 s.
	Heartbeat time.Duration
	// ListenGrace is for how long nobody may listen to a result before its
	// engine call is cancelled. Default 10 s.
	ListenGrace time.Duration
	// AttemptTimeout ends an engine call that takes longer, with engine_error: a
	// hang, most likely. Default 1 h.
	AttemptTimeout time.Duration
	// MaxBody is the largest body that is read from the bucket for those that no
	// message can carry, bytes. Default 256 MiB.
	MaxBody int64
	// BodyGrace is for how long a body must be missing from that bucket, by the word
	// of the stream's leader, before its request is refused. Default 5 s.
	BodyGrace time.Duration
	// LeaveGrace bounds how long an aborted agent tries to give its work back.
	// Default 5 s.
	LeaveGrace time.Duration
	// Metrics takes the agent's metrics; nil keeps them to itself.
	Metrics prometheus.Registerer
	// Log takes the agent's log; the zero value writes nothing.
	Log *zerolog.Logger
}

func (c Config) withDefaults() Config {
	orDefault(&c.URL, nats.DefaultURL)
	orDefault(&c.Ranks, 1)
	orDefault(&c.Slots, 8)
	orDefault(&c.Heartbeat, time.Second)
	orDefault(&c.ListenGrace, 10*time.Second)
	orDefault(&c.AttemptTimeout, time.Hour)
	orDefault(&c.BodyGrace, 5*time.Second)
	orDefault(&c.LeaveGrace, 5*time.Second)
	orDefault(&c.MaxBody, 256<<20)
	if c.ReplyPrefixes == nil {
		c.ReplyPrefixes = wire.DefaultReplyPrefixes()
	}
	if c.Metrics == nil {
		c.Metrics = prometheus.NewRegistry()
	}
	if c.Log == nil {
		nop := zerolog.Nop()
		c.Log = &nop
	}
	return c
}

func orDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// Bounds of what one agent takes on.
const (
	maxRanks = 1 << 10
	maxSlots = 1 << 14 // of all ranks together
)

func (c Config) validate() error {
	switch {
	case !wire.ValidToken(c.Worker):
		return fmt.Errorf("worker %q: want 1 to 64 characters of A-Z a-z 0-9 _ -", c.Worker)
	case c.Engine == nil:
		return errors.New("engine: is missing")
	case c.Ranks < 1 || c.Ranks > maxRanks:
		return fmt.Errorf("ranks: %d, want 1 to %d", c.Ranks, maxRanks)
	case c.Slots < 1 || c.Slots*c.Ranks > maxSlots:
		return fmt.Errorf("slots: %d on each of %d ranks, want at least 1 and at most %d together", c.Slots, c.Ranks, maxSlots)
	case math.IsNaN(c.Speed) || math.IsInf(c.Speed, 0) || c.Speed < 0:
		return fmt.Errorf("speed: %v tokens/s, want a positive number, or 0 for unknown", c.Speed)
	case c.BlockTokens < 0:
		return fmt.Errorf("block tokens: %d, want at least 1, or 0 for what the engine says", c.BlockTokens)
	case c.Heartbeat < minBeat || c.Heartbeat > time.Minute:
		return fmt.Errorf("heartbeat: %s, want %s to 1m", c.Heartbeat, minBeat)
	case c.AttemptTimeout < 0:
		return fmt.Errorf("attempt timeout: %s, want a positive duration", c.AttemptTimeout)
	case c.ListenGrace < 0:
		return fmt.Errorf("listen grace: %s, want a positive duration", c.ListenGrace)
	case c.MaxBody < 1:
		return fmt.Errorf("max body: %d bytes, want at least 1", c.MaxBody)
	case c.BodyGrace < 0:
		return fmt.Errorf("body grace: %s, want a positive duration", c.BodyGrace)
	case c.LeaveGrace < 0:
		return fmt.Errorf("leave grace: %s, want a positive duration", c.LeaveGrace)
	}
	if err := wire.CheckAnnounced("models", c.Models); err != nil {
		return err
	}
	if err := wire.CheckAnnounced("taints", c.Taints); err != nil {
		return err
	}
	for _, taint := range c.Taints {
		if !wire.ValidToken(taint) {
			return fmt.Errorf("taint %q: want 1 to 64 characters of A-Z a-z 0-9 _ -", taint)
		}
	}
	return nil
}

// slots is how many requests run at once, on all ranks.
func (c Config) slots() int { return c.Ranks * c.Slots }
