package demo

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/rs/zerolog"

	"fairlead/client"
)

// run is a scenario being played, with what it is played on.
type run struct {
	scenario *Scenario
	url      string
	log      zerolog.Logger
	fail     func(error) // takes what makes going on useless, and ends the run
	obs      *observer
	fronts   *frontends
	leader   *client.Client // to ask the leader with
}

// play runs the scenario. Everything that it starts has ended when it returns.
func play(parent context.Context, s *Scenario, v view, log zerolog.Logger) (f Figures, err error) {
	ctx, cancel := context.WithCancelCause(parent)
	defer cancel(nil)
	r := &run{scenario: s, log: log, fail: func(err error) { cancel(err) }}
	sys, err := start(s.Policy, log, r.fail)
	if err != nil {
		return f, err
	}
	defer func() { err = errors.Join(err, sys.stop()) }()
	r.url = sys.srv.URL()
	if r.obs, err = observe(r.url, s, s.Patience, func() { cancel(errStalled) }); err != nil {
		return f, err
	}
	defer r.obs.close()
	if r.fronts, err = connect(s.Frontends, r.url, r.obs, r.fail); err != nil {
		return f, err
	}
	defer r.fronts.close()
	r.leader = r.fronts.clients[0]
	return r.watched(ctx, parent, v)
}

// watched goes through the run while the view shows it.
func (r *run) watched(ctx, parent context.Context, v view) (Figures, error) {
	watch := r.watch(ctx, v)
	err := r.through(ctx)
	watch()
	f, ferr := r.obs.figures()
	switch cause := context.Cause(ctx); {
	case parent.Err() != nil:
		return f, interrupted{}
	case errors.Is(cause, errStalled): // the figures say what is missing
		r.log.Error().Err(cause).Int("open", f.Open()).Msg("giving up on requests without an outcome")
		return f, ferr
	case cause != nil:
		return f, cause
	}
	return f, errors.Join(err, ferr)
}

// through asks, lets the workers work, and returns when every request has its
// outcome and every agent has left, so that nothing is said after the count.
func (r *run) through(ctx context.Context) error {
	workers := newCrew(r.scenario.Fleet, r.url, r.log, r.fail)
	defer workers.dismiss()
	if err := r.ready(ctx, 0); err != nil { // and with it the streams are there
		return err
	}
	late := r.scenario.Fleet.Late
	if !late {
		if err := r.staff(ctx, workers); err != nil {
			return err
		}
	}
	r.fronts.ask(ctx, r.scenario.Requests)
	if late && ctx.Err() == nil {
		if err := r.staff(ctx, workers); err != nil {
			return err
		}
	}
	r.fronts.wait()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	workers.rest()
	return r.settle(ctx)
}

const (
	readyWait = 30 * time.Second      // until the broker leads and has heard of the workers
	readyPace = 50 * time.Millisecond // between looks
	closing   = 10 * time.Second      // for the last questions of a run
)

var errNotReady = errors.New("the broker does not know of every worker yet")

// staff lets the workers join, and waits until the broker knows them all, so that
// their coming is no part of the wait of what is asked afterwards.
func (r *run) staff(ctx context.Context, workers *crew) error {
	if err := workers.join(); err != nil {
		return err
	}
	return r.ready(ctx, r.scenario.Fleet.Workers)
}

// ready waits until the broker leads, has recovered and knows so many workers.
func (r *run) ready(ctx context.Context, workers int) error {
	_, err := backoff.Retry(ctx, func() (struct{}, error) {
		s, err := r.leader.Status(ctx)
		if err == nil && (!s.Recovered || len(s.Workers) < workers) {
			err = errNotReady
		}
		return struct{}{}, err
	}, backoff.WithBackOff(backoff.NewConstantBackOff(readyPace)), backoff.WithMaxElapsedTime(readyWait))
	if err != nil {
		return fmt.Errorf("start: %w", err)
	}
	return nil
}

// settle reads what was said to its end, and the broker's account.
func (r *run) settle(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, closing)
	defer cancel()
	if err := r.obs.flush(ctx); err != nil {
		return err
	}
	return r.shares(ctx)
}

// shares takes over the broker's account of what each class got.
func (r *run) shares(ctx context.Context) error {
	s, err := r.leader.Status(ctx)
	if err != nil {
		return err
	}
	r.obs.tell(func(rec *Recorder) { rec.Shares(s.Classes) })
	return nil
}
