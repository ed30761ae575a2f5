package broker

import (
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"fairlead/broker/arbiter"
	"fairlead/internal/store"
	"fairlead/policy"
	"fairlead/wire"
)

// Config is what a broker needs. Conn is required; zero means default elsewhere.
type Config struct {
	Conn       *nats.Conn
	Name       string // of this broker, in logs and in the lease
	Names      wire.Names
	Policy     *policy.Policy   // in force while none is stored; default policy.Default()
	PolicyFile string           // where Policy was read, for people; "" says that no file was named
	Overload   arbiter.Overload // when a worker gets nothing more; zero is off
	Streams    store.Options
	Replies    []string // prefixes that a reply subject must have; default wire.DefaultReplyPrefixes()
	Log        zerolog.Logger
	Registry   prometheus.Registerer // nil registers no metrics
	Timing     Timing
}

// Timing is how fast leadership is taken, kept and given up. The order
// Renew < Act < Lease is required: whoever stops acting before its lease ends
// makes room for the next one.
type Timing struct {
	Lease    time.Duration // the store forgets the leader after so long; whole seconds; default 5 s
	Renew    time.Duration // between renewals; default 1.5 s
	Act      time.Duration // without a renewal a leader stops acting after so long; default 4 s
	Campaign time.Duration // between a standby's attempts; default 250 ms
	Listen   time.Duration // heartbeats are heard for so long before the first decision; default 1 s
}

func (t Timing) withDefaults() Timing {
	set := func(d *time.Duration, def time.Duration) {
		if *d == 0 {
			*d = def
		}
	}
	set(&t.Lease, 5*time.Second)
	set(&t.Renew, 1500*time.Millisecond)
	set(&t.Act, 4*time.Second)
	set(&t.Campaign, 250*time.Millisecond)
	set(&t.Listen, time.Second)
	return t
}

func (t Timing) validate() error {
	if t.Lease < time.Second || t.Lease%time.Second != 0 {
		return fmt.Errorf("timing: lease is %v; want whole seconds, at least 1s", t.Lease)
	}
	if !(t.Renew < t.Act && t.Act < t.Lease) {
		return fmt.Errorf("timing: renew %v, act %v, lease %v; want them to rise in this order", t.Renew, t.Act, t.Lease)
	}
	return nil
}

func (c Config) withDefaults() Config {
	if c.Name == "" {
		c.Name = nats.NewInbox()[len(nats.InboxPrefix):]
	}
	if c.Policy == nil {
		c.Policy = policy.Default()
	}
	if c.Replies == nil {
		c.Replies = wire.DefaultReplyPrefixes()
	}
	c.Timing = c.Timing.withDefaults()
	return c
}

func (c Config) validate() error {
	if c.Conn == nil {
		return errors.New("broker: Conn is missing; want a NATS connection")
	}
	if err := c.Timing.validate(); err != nil {
		return fmt.Errorf("broker: %w", err)
	}
	if err := c.Overload.Validate(); err != nil {
		return fmt.Errorf("broker: %w", err)
	}
	return nil
}
