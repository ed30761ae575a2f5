package broker

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"fairlead/internal/store"
	"fairlead/wire"
)

// fence publishes what only the leader may: each guard has a goroutine and at
// most one message under way, on the condition that the guard has not moved.
type fence struct {
	lease  *lease
	writes chan write
}

// write is a message for WORK. Prepare may fill in what takes a read of the
// store; stored is called with its sequence.
type write struct {
	prepare func(ctx context.Context) (*nats.Msg, error)
	stored  func(seq uint64)
}

// newFence makes room for one write per guard: the arbiter never asks for more,
// so the loop never blocks on it.
func newFence(l *lease) *fence { return &fence{lease: l, writes: make(chan write, 2*wire.Guards)} }

// certain is how long a write is repeated under its dedup id: less than the
// window, or the same claim could be stored twice.
const certain = 20 * time.Second

// guard publishes on the condition of guard k until the context ends or another
// broker leads.
func (f *fence) guard(ctx context.Context, k int) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case w := <-f.writes:
			began := time.Now()
			seq, err := f.publish(ctx, k, w)
			if err != nil {
				return quiet(ctx, err)
			}
			f.lease.b.metrics.fencedWrite(time.Since(began))
			w.stored(seq)
		}
	}
}

func (f *fence) publish(ctx context.Context, k int, w write) (uint64, error) {
	var m *nats.Msg
	op := func() (uint64, error) {
		var err error
		if m == nil {
			if m, err = w.prepare(ctx); err != nil {
				m = nil
				return 0, err
			}
			m.Header.Set(wire.HeaderExpectedSubject, f.lease.b.cfg.Names.Epoch(k))
			m.Header.Set(wire.HeaderExpectedSubjectSeq, strconv.FormatUint(f.lease.guards[k], 10))
		}
		try, cancel := context.WithTimeout(ctx, tryTimeout)
		defer cancel()
		ack, err := f.lease.b.store.JS.PublishMsg(try, m, jetstream.WithRetryAttempts(0))
		if err == nil {
			return ack.Sequence, nil
		}
		return 0, f.judge(ctx, k, err)
	}
	seq, err := backoff.Retry(ctx, op, backoff.WithBackOff(eager()), backoff.WithMaxElapsedTime(certain))
	if err != nil {
		return 0, fmt.Errorf("fenced write: %w", err)
	}
	return seq, nil
}

// eager is how a fenced write is repeated: a refusal right after a take-over is
// over in milliseconds.
func eager() *backoff.ExponentialBackOff {
	b := backoff.NewExponentialBackOff()
	b.InitialInterval, b.MaxInterval = 5*time.Millisecond, time.Second
	return b
}

// judge says whether an error ends the term. A refused guard does when the
// stream's leader confirms that it has moved: the refusal alone also hits the
// rightful leader now and then (nats-server, code 10164).
func (f *fence) judge(ctx context.Context, k int, err error) error {
	var api *jetstream.APIError
	switch {
	case isWrongSequence(err):
		names := f.lease.b.cfg.Names
		m, gerr := f.lease.b.store.LeaderLast(ctx, names.StreamWORK(), names.Epoch(k))
		if errors.Is(gerr, store.ErrNotFound) || gerr == nil && m.Seq != f.lease.guards[k] {
			return backoff.Permanent(errDeposed)
		}
		return err
	case errors.Is(err, nats.ErrMaxPayload), errors.Is(err, nats.ErrBadSubject):
		return backoff.Permanent(err)
	case errors.As(err, &api) && api.ErrorCode == jetstream.JSErrCodeStreamNotFound:
		return backoff.Permanent(fmt.Errorf("WORK is gone: %w", err))
	}
	f.lease.b.metrics.storeRetry()
	return err
}
