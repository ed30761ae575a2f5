package agent

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"fairlead/internal/buildinfo"
	"fairlead/internal/store"
	"fairlead/wire"
)

// Pace of what is tried again until it works.
const (
	firstWait = 50 * time.Millisecond
	lastWait  = 2 * time.Second
	// tryTimeout bounds one try; the server answers in milliseconds, or not at all.
	tryTimeout = 2 * time.Second
)

// insist tries op until it works, the context ends or the error is permanent.
func insist(ctx context.Context, op func(context.Context) error, notify backoff.Notify) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	pace := backoff.NewExponentialBackOff()
	pace.InitialInterval, pace.MaxInterval = firstWait, lastWait
	_, err := backoff.Retry(ctx, func() (struct{}, error) {
		try, cancel := context.WithTimeout(ctx, tryTimeout)
		defer cancel()
		err := op(try)
		if errors.Is(err, nats.ErrConnectionClosed) || errors.Is(err, nats.ErrMaxPayload) {
			err = backoff.Permanent(err)
		}
		return struct{}{}, err
	}, backoff.WithBackOff(pace), backoff.WithMaxElapsedTime(0), backoff.WithNotify(notify))
	return err
}

// open brings the agent to where it can take work: streams there, registered,
// subscribed, with a consumer of its own.
func (a *Agent) open(ctx context.Context, st *store.Store) (*loop, error) {
	a.notReady(0, errors.New("waiting for the streams"))
	if err := a.awaitStreams(ctx, st); err != nil {
		return nil, err
	}
	incarnation, err := a.register(ctx, st)
	if err != nil {
		return nil, err
	}
	a.notReady(incarnation, errors.New("waiting for the consumer"))
	l := newLoop(a, st, incarnation)
	if err := l.subscribe(); err != nil {
		l.close()
		return nil, err
	}
	return l, nil
}

func (a *Agent) notReady(incarnation uint64, err error) {
	a.status.Store(&status{incarnation: incarnation, notReady: err})
}

// awaitStreams waits until a broker has created the streams. It says what it
// waits for whenever that changes.
func (a *Agent) awaitStreams(ctx context.Context, st *store.Store) error {
	n := st.Names
	said := ""
	for _, name := range []string{n.StreamREQ(), n.StreamWORK(), n.StreamDONE(), n.StreamRES()} {
		err := insist(ctx, func(ctx context.Context) error {
			_, err := st.JS.Stream(ctx, name)
			return err
		}, func(err error, _ time.Duration) {
			text := explain(name, err)
			if text != said {
				a.notReady(0, errors.New(text))
				a.cfg.Log.Warn().Err(err).Msg(text)
			}
			said = text
		})
		if err != nil {
			return fmt.Errorf("wait for stream %s: %w", name, err)
		}
	}
	return nil
}

// explain says what an operator can do about a stream that is not there.
func explain(stream string, err error) string {
	switch {
	case errors.Is(err, jetstream.ErrStreamNotFound):
		return fmt.Sprintf("waiting for stream %s: start a broker, which creates it, or check the namespace", stream)
	case errors.Is(err, jetstream.ErrJetStreamNotEnabled), errors.Is(err, jetstream.ErrJetStreamNotEnabledForAccount),
		errors.Is(err, nats.ErrNoResponders):
		return "waiting for JetStream: it is off on this server or account; start nats-server with -js, or enable it for the account"
	default:
		return fmt.Sprintf("waiting for stream %s: NATS does not answer", stream)
	}
}

// register stores the registration; its sequence is the incarnation.
func (a *Agent) register(ctx context.Context, st *store.Store) (uint64, error) {
	host, err := os.Hostname()
	if err != nil {
		host = "" // only for people to read
	}
	msg := nats.NewMsg(st.Names.Reg(a.cfg.Worker))
	msg.Header.Set(wire.HeaderRollup, "sub") // one is enough
	msg.Data = wire.Encode(&wire.Registration{
		Worker: a.cfg.Worker, Host: host, PID: os.Getpid(), Build: buildinfo.Get().String(), StartedMS: time.Now().UnixMilli(),
	})
	var incarnation uint64
	err = insist(ctx, func(ctx context.Context) error {
		ack, err := st.JS.PublishMsg(ctx, msg)
		if err == nil {
			incarnation = ack.Sequence
		}
		return err
	}, a.complain("register"))
	if err != nil {
		return 0, fmt.Errorf("register worker %s: %w", a.cfg.Worker, err)
	}
	a.cfg.Log.Info().Str("worker", a.cfg.Worker).Uint64("incarnation", incarnation).Msg("registered")
	return incarnation, nil
}

// complain logs that something has to be tried again.
func (a *Agent) complain(what string) backoff.Notify {
	return func(err error, wait time.Duration) {
		a.cfg.Log.Warn().Err(err).Stringer("wait", wait).Msg("cannot " + what + "; trying again")
	}
}
