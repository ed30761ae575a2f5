package agent

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/nats-io/nats.go"

	"fairlead/internal/store"
)

// ErrSuperseded is returned by Run when a newer agent with the same worker id
// has taken over.
var ErrSuperseded = errors.New("superseded: another agent with this worker id has started since")

// Agent is one worker's agent. It runs once.
type Agent struct {
	cfg     Config
	metrics *metrics
	status  atomic.Pointer[status]
}

// status is what others may ask of a running agent.
type status struct {
	incarnation uint64
	notReady    error
}

// New checks the configuration; it does not connect. The error names the field
// at fault and says what would be right.
func New(cfg Config) (*Agent, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, fmt.Errorf("agent: %w", err)
	}
	m, err := newMetrics(cfg.Metrics)
	if err != nil {
		return nil, fmt.Errorf("agent: %w", err)
	}
	a := &Agent{cfg: cfg, metrics: m}
	a.status.Store(&status{notReady: errors.New("not started")})
	return a, nil
}

// Ready says why the agent takes no work now; nil when it does.
func (a *Agent) Ready() error { return a.status.Load().notReady }

// Incarnation is the number of this start; 0 until it is registered.
func (a *Agent) Incarnation() uint64 { return a.status.Load().incarnation }

// Run works until stop ends and the work in hand is done, or until abort ends
// and the work in hand is given back. Both are ordinary ends, without an error.
// It returns [ErrSuperseded] when another agent has taken the worker id.
func (a *Agent) Run(stop, abort context.Context) error {
	stop, cancel := context.WithCancel(stop)
	defer cancel()
	defer context.AfterFunc(abort, cancel)() // an abort is a stop as well
	nc, closeConn, err := a.connect()
	if err != nil {
		return err
	}
	defer closeConn()
	st, err := store.OpenAs(nc, a.cfg.Names, a.cfg.APIPrefix)
	if err != nil {
		return fmt.Errorf("agent: %w", err)
	}
	l, err := a.open(stop, st)
	if stop.Err() != nil && err != nil {
		return nil // told to leave before there was anything to do
	}
	if err != nil {
		return fmt.Errorf("agent: %w", err)
	}
	defer l.close()
	return l.run(stop, abort)
}

// connect returns the connection to use, and how to let it go.
func (a *Agent) connect() (*nats.Conn, func(), error) {
	if a.cfg.Conn != nil {
		return a.cfg.Conn, func() {}, nil
	}
	log := a.cfg.Log
	opts := append(store.Reconnect("fairlead agent "+a.cfg.Worker),
		store.Unreachable(func(err error) { log.Warn().Err(err).Msg("cannot reach NATS; trying again") }),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if err != nil { // nil: this side closed it
				log.Warn().Err(err).Msg("lost the connection to NATS")
			}
		}),
		nats.ReconnectHandler(func(*nats.Conn) { log.Info().Msg("connected to NATS again") }),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { log.Warn().Err(err).Msg("NATS reports an error") }),
	)
	nc, err := nats.Connect(a.cfg.URL, append(opts, a.cfg.Options...)...)
	if err != nil {
		return nil, nil, fmt.Errorf("agent: connect to NATS: %w", err)
	}
	return nc, nc.Close, nil
}
