package broker

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/rs/zerolog"

	"fairlead/internal/store"
	"fairlead/policy"
	"fairlead/wire"
)

// Broker leads or stands by. It is safe for concurrent use.
type Broker struct {
	cfg      Config
	log      zerolog.Logger
	store    *store.Store
	rules    wire.Rules
	metrics  *metrics
	ears     *listener
	state    atomic.Pointer[condition]
	policies *policies
	term     atomic.Pointer[term]  // the present one; nil while standing by
	trouble  atomic.Pointer[error] // of the store, while leading; nil is none
}

// condition is what a broker says of itself to the outside.
type condition struct {
	role  role
	epoch uint64
	err   error // why it is not ready
}

type role string

const (
	roleStarting role = "starting"
	roleStandby  role = "standby"
	roleRecovery role = "recovering"
	roleLeader   role = "leader"
	roleStopped  role = "stopped"
)

// New checks the configuration. It sends nothing: see [Broker.Run].
func New(cfg Config) (*Broker, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	st, err := store.Open(cfg.Conn, cfg.Names)
	if err != nil {
		return nil, err
	}
	b := &Broker{
		cfg: cfg, store: st,
		log:     cfg.Log.With().Str("broker", cfg.Name).Logger(),
		rules:   wire.Rules{Names: cfg.Names, ReplyPrefixes: cfg.Replies},
		metrics: newMetrics(cfg.Registry),
	}
	b.ears = newListener(b)
	b.policies = newPolicies(b)
	factory{cfg.Registry}.register(newScrape(b))
	b.set(roleStarting, 0, errors.New("the streams have not been checked yet"))
	return b, nil
}

// Run leads whenever the store lets it, and stands by otherwise, until the
// context ends; it then hands over at once. Its error is one that waiting will
// not mend, such as a stream that is not Fairlead's.
func (b *Broker) Run(ctx context.Context) error {
	defer b.set(roleStopped, 0, errors.New("stopped"))
	if err := b.ears.start(); err != nil {
		return fmt.Errorf("listen to workers: %w", err)
	}
	defer b.ears.stop()
	defer b.policies.stop()
	for ctx.Err() == nil {
		if err := b.ensureStreams(ctx); err != nil {
			return quiet(ctx, err)
		}
		b.set(roleStandby, 0, nil)
		lease, err := b.campaign(ctx)
		if err != nil {
			return quiet(ctx, err)
		}
		began := time.Now()
		if err := b.lead(ctx, lease); err != nil && time.Since(began) < b.cfg.Timing.Renew {
			b.set(roleStandby, 0, err)
			_ = pause(ctx, b.cfg.Timing.Renew) // what ended this term at once may end the next one too
		}
	}
	return nil
}

// quiet drops the error of a run that was asked to end.
func quiet(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// ensureTimeout bounds one try: a cluster without enough servers does not answer.
const ensureTimeout = 3 * time.Second

// ensureStreams waits for a store that answers, and reads the policy there before
// anything is decided by another; a foreign stream, or JetStream being off, does
// not mend itself.
func (b *Broker) ensureStreams(ctx context.Context) error {
	said := false
	op := func() (struct{}, error) {
		try, cancel := context.WithTimeout(ctx, ensureTimeout)
		defer cancel()
		err := b.store.Ensure(try, b.cfg.Streams)
		if err == nil {
			err = b.policies.sync(try)
		}
		if err != nil && store.Permanent(err) {
			return struct{}{}, backoff.Permanent(err)
		}
		if err != nil && !said {
			said = true
			b.log.Warn().Err(err).Msg("the store is not ready (in a cluster: a majority of its servers must run); waiting for it")
		}
		if err != nil {
			b.set(roleStarting, 0, err)
		}
		return struct{}{}, err
	}
	_, err := backoff.Retry(ctx, op, backoff.WithBackOff(patient()), backoff.WithMaxElapsedTime(0))
	return err
}

// patient is how the store is asked again: soon at first, then every few
// seconds, with jitter, for as long as it takes.
func patient() *backoff.ExponentialBackOff {
	b := backoff.NewExponentialBackOff()
	b.InitialInterval, b.MaxInterval = 50*time.Millisecond, 2*time.Second
	return b
}

// lead runs one term to its end; the error says why it ended.
func (b *Broker) lead(ctx context.Context, l *lease) error {
	b.set(roleRecovery, l.epoch, nil)
	t := b.policies.begin(l)
	b.term.Store(t)
	err := t.run(ctx)
	b.term.Store(nil)
	b.policies.end()
	b.ears.listenFor(nil)
	if ctx.Err() == nil {
		b.log.Warn().Err(err).Uint64("epoch", l.epoch).Msg("term ended; standing by")
	}
	return err
}

// Reload replaces the policy that this broker was started with, now and for terms
// to come. While a stored policy is in force the new one is kept, makes no
// difference, and the error says so.
func (b *Broker) Reload(p *policy.Policy) error { return b.policies.replaceOwn(p) }

func (b *Broker) set(r role, epoch uint64, err error) {
	b.state.Store(&condition{role: r, epoch: epoch, err: err})
	b.metrics.role(r, epoch)
}

// Ready is nil when the broker can do its part: the store answers, the streams
// are there, and it leads or stands by.
func (b *Broker) Ready() error {
	if !b.cfg.Conn.IsConnected() {
		return fmt.Errorf("not connected to NATS: none of %v answers", b.cfg.Conn.Servers())
	}
	switch c := b.state.Load(); {
	case c.err != nil:
		return c.err
	case c.role == roleRecovery:
		return errors.New("recovering what the predecessor left")
	}
	if trouble := b.trouble.Load(); trouble != nil {
		return *trouble
	}
	return nil
}

// State says in a few words what the broker is doing.
func (b *Broker) State() string {
	c := b.state.Load()
	switch c.role {
	case roleLeader:
		return fmt.Sprintf("leading, epoch %d", c.epoch)
	case roleStandby:
		return "standing by"
	case roleStarting, roleRecovery, roleStopped:
	}
	return string(c.role)
}

// Leading reports whether this broker leads and has recovered, and its epoch.
func (b *Broker) Leading() (epoch uint64, ok bool) {
	c := b.state.Load()
	return c.epoch, c.role == roleLeader
}
