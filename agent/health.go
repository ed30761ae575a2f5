package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"fairlead/wire"
)

// Pace of the engine's health checks. A sick engine is asked more often, so that
// it gets work soon after its recovery.
const (
	healthEvery  = 5 * time.Second
	sickEvery    = time.Second
	healthExpiry = 5 * time.Second
)

// errUnchecked is the health of an engine before its first check.
var errUnchecked = errors.New("the engine has not been checked yet")

// health is what the last check of the engine found.
type health struct {
	err    error
	help   string // what an operator can do about err
	models []string
}

// watchEngine checks the engine until the context ends.
func (l *loop) watchEngine(ctx context.Context) {
	for {
		h := l.check(ctx)
		select {
		case l.checks <- h:
		case <-ctx.Done():
			return
		}
		wait := healthEvery
		if h.err != nil {
			wait = sickEvery
		}
		select {
		case <-time.After(wait):
		case <-l.sick:
		case <-ctx.Done():
			return
		}
	}
}

func (l *loop) check(ctx context.Context) health {
	ctx, cancel := context.WithTimeout(ctx, healthExpiry)
	defer cancel()
	if err := l.cfg.Engine.Healthy(ctx); err != nil {
		return health{
			err:  fmt.Errorf("the engine is not healthy: %w", err),
			help: "start the engine, or check the address that the agent has for it",
		}
	}
	if len(l.cfg.Models) > 0 {
		return health{models: l.cfg.Models}
	}
	models, err := l.cfg.Engine.Models(ctx)
	if err != nil {
		return health{
			err:  fmt.Errorf("the engine does not tell its models: %w", err),
			help: "check the engine's address and key, or name the models to the agent",
		}
	}
	if len(models) == 0 {
		return health{err: errors.New("the engine serves no model"), help: "load a model, or name the models to the agent"}
	}
	if err := wire.CheckAnnounced("models", models); err != nil {
		return health{err: fmt.Errorf("the engine tells too much: %w", err), help: "name the models to the agent"}
	}
	return health{models: models}
}

// checked takes in the result of a check. The models of a healthy time are kept:
// a sick engine is out of service by its flag alone. The first result is always
// logged, then what is new.
func (l *loop) checked(h health) {
	if h.err != nil {
		h.models = l.health.models
	}
	if (h.err == nil) != (l.health.err == nil) || !slices.Equal(h.models, l.health.models) {
		l.beat.changed()
	}
	if errors.Is(l.health.err, errUnchecked) || h.help != l.health.help || !slices.Equal(h.models, l.health.models) {
		l.logHealth(h)
	}
	l.health = h
	if !l.draining && !l.superseded && l.pulls.existing {
		l.notReady(l.incarnation, l.unfit())
	}
}

// logHealth says what a check has found.
func (l *loop) logHealth(h health) {
	if h.err != nil {
		l.cfg.Log.Warn().Err(h.err).Str("help", h.help).Msg("no work is taken while the engine is sick; checking on")
		return
	}
	l.cfg.Log.Info().Strs("models", h.models).Msg("the engine is healthy")
}

// unfit says why the agent should get no work now; nil when it should.
func (l *loop) unfit() error {
	if l.draining {
		return errors.New("draining")
	}
	return l.health.err
}
