package broker

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/synadia-io/orbit.go/jetstreamext"

	"fairlead/wire"
)

// lease is a term's hold on the store. Its epoch is the sequence of the message
// that took it, so it rises from leader to leader.
type lease struct {
	b      *Broker
	epoch  uint64
	seq    uint64 // of the newest renewal
	guards [wire.Guards]uint64
	sent   time.Time // when the newest successful renewal was sent
	count  int
}

// errDeposed says that another broker has taken over.
var errDeposed = errors.New("another broker leads")

// campaign waits until this broker holds the lease and has written the guards.
func (b *Broker) campaign(ctx context.Context) (*lease, error) {
	said := false
	for {
		l, err := b.takeLead(ctx)
		switch {
		case err == nil:
			return l, nil
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case errors.Is(err, errDeposed):
			said = false
			b.set(roleStandby, 0, nil)
		case !said:
			said = true
			b.log.Warn().Err(err).Msg("cannot campaign; trying again")
			b.set(roleStandby, 0, err)
		}
		if err := pause(ctx, b.cfg.Timing.Campaign/2+rand.N(b.cfg.Timing.Campaign)); err != nil {
			return nil, err
		}
	}
}

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// takeLead takes the lease if nobody holds it, then writes the guards.
func (b *Broker) takeLead(ctx context.Context) (*lease, error) {
	ctx, cancel := context.WithTimeout(ctx, b.cfg.Timing.Act)
	defer cancel()
	l := &lease{b: b, sent: time.Now()}
	seq, err := l.publish(ctx, 0, "take."+nats.NewInbox())
	if err != nil {
		return nil, err
	}
	l.epoch, l.seq = seq, seq
	if err := l.writeGuards(ctx); err != nil {
		return nil, fmt.Errorf("write guards: %w", err)
	}
	return l, nil
}

// message is the lease as stored: expected says which sequence it replaces.
func (l *lease) message(expected uint64) *nats.Msg {
	m := nats.NewMsg(l.b.cfg.Names.Lead())
	m.Data = []byte(l.b.cfg.Name)
	m.Header.Set(wire.HeaderExpectedSubjectSeq, strconv.FormatUint(expected, 10))
	m.Header.Set(wire.HeaderRollup, "sub")
	m.Header.Set(wire.HeaderNatsTTL, strconv.Itoa(int(l.b.cfg.Timing.Lease/time.Second)))
	return m
}

func (l *lease) publish(ctx context.Context, expected uint64, id string) (uint64, error) {
	m := l.message(expected)
	m.Header.Set(wire.HeaderMsgID, id)
	ack, err := l.b.store.JS.PublishMsg(ctx, m, jetstream.WithRetryAttempts(0))
	if isWrongSequence(err) {
		return 0, errDeposed
	}
	if err != nil {
		return 0, fmt.Errorf("publish lead: %w", err)
	}
	return ack.Sequence, nil
}

func isWrongSequence(err error) bool {
	var api *jetstream.APIError
	return errors.As(err, &api) &&
		(api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence || api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequenceConstant)
}

// writeGuards replaces all guards in one atomic batch. The batch renews the lease
// too, on the condition that it is still this broker's: one that slept through
// its lease cannot depose a healthy leader.
func (l *lease) writeGuards(ctx context.Context) error {
	batch := make([]*nats.Msg, 0, wire.Guards+1)
	batch = append(batch, l.message(l.seq))
	for k := range wire.Guards {
		m := nats.NewMsg(l.b.cfg.Names.Epoch(k))
		m.Data = strconv.AppendUint(nil, l.epoch, 10)
		m.Header.Set(wire.HeaderRollup, "sub")
		batch = append(batch, m)
	}
	sent := time.Now()
	ack, err := jetstreamext.PublishMsgBatch(ctx, l.b.store.JS, batch)
	if isWrongSequence(err) {
		return errDeposed
	}
	if err != nil {
		return err
	}
	first := ack.Sequence - uint64(len(batch)) + 1
	l.seq, l.sent = first, sent
	for k := range l.guards {
		l.guards[k] = first + 1 + uint64(k)
	}
	return nil
}

// keep renews the lease until the context ends. It returns when the lease is
// lost, or could not be renewed for so long that another may soon hold it.
func (l *lease) keep(ctx context.Context) error {
	timing := l.b.cfg.Timing
	for {
		if err := pause(ctx, timing.Renew-min(timing.Renew, time.Since(l.sent))); err != nil {
			return nil
		}
		if err := l.renew(ctx); err != nil {
			return quiet(ctx, err)
		}
	}
}

// renew repeats one renewal until the store answers, under one dedup id: it may
// have been stored although its answer was lost.
func (l *lease) renew(ctx context.Context) error {
	l.count++
	id := fmt.Sprintf("%d.r.%d", l.epoch, l.count)
	ctx, cancel := context.WithDeadline(ctx, l.sent.Add(l.b.cfg.Timing.Act))
	defer cancel()
	for {
		sent := time.Now()
		seq, err := l.publish(ctx, l.seq, id)
		switch {
		case err == nil:
			l.seq, l.sent = seq, sent
			return nil
		case errors.Is(err, errDeposed):
			if l.held(ctx) {
				break
			}
			return err
		case ctx.Err() != nil:
			return fmt.Errorf("the lease could not be renewed for %v: %w", l.b.cfg.Timing.Act, err)
		}
		if err := pause(ctx, 50*time.Millisecond+rand.N(100*time.Millisecond)); err != nil {
			return fmt.Errorf("the lease could not be renewed for %v", l.b.cfg.Timing.Act)
		}
	}
}

// held asks the stream's leader whether the lease is still where this broker
// wrote it; a refusal alone does not say so on a replicated stream.
func (l *lease) held(ctx context.Context) bool {
	m, err := l.b.store.LeaderLast(ctx, l.b.cfg.Names.StreamWORK(), l.b.cfg.Names.Lead())
	return err == nil && m.Seq == l.seq
}

// release lets another broker lead at once.
func (l *lease) release(ctx context.Context) error {
	return l.b.store.Delete(ctx, l.b.cfg.Names.StreamWORK(), l.seq)
}
