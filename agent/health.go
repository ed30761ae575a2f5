package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Pace of the engine's health checks. A sick engine is asked more often, so that
// it gets work soon after its recovery.
const (
	healthEvery  = 5 * time.Second
	sickEvery    = time.Second
	healthExpiry = 5 * time.Second
)

// health is what the last check of the engine found.
type health struct {
	err    error
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
		return health{err: fmt.Errorf("the engine is not healthy: %w", err)}
	}
	if len(l.cfg.Models) > 0 {
		return health{models: l.cfg.Models}
	}
	models, err := l.cfg.Engine.Models(ctx)
	if err != nil {
		return health{err: fmt.Errorf("the engine does not tell its models: %w", err)}
	}
	if len(models) == 0 {
		return health{err: errors.New("the engine serves no model")}
	}
	return health{models: models}
}

// checked takes in the result of a check. The models of a healthy time are kept:
// a sick engine is out of service by its flag alone.
func (l *loop) checked(h health) {
	if h.err != nil {
		h.models = l.health.models
	}
	if (h.err == nil) != (l.health.err == nil) || !slices.Equal(h.models, l.health.models) {
		l.beat.changed()
		l.cfg.Log.Info().Strs("models", h.models).AnErr("sick", h.err).Msg("engine checked")
	}
	l.health = h
	if !l.draining && !l.superseded && l.pulls.existing {
		l.notReady(l.incarnation, l.unfit())
	}
}

// unfit says why the agent should get no work now; nil when it should.
func (l *loop) unfit() error {
	if l.draining {
		return errors.New("draining")
	}
	return l.health.err
}
