package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strconv"

	"github.com/nats-io/nats.go"

	"fairlead/wire"
)

// Batch asks any replica for the next n messages at or above a sequence; a subject, which
// may be "", leaves out the others. The messages follow each other in the stream without
// a gap, and the error that ends them says when they do not. Fewer than n may come; when
// there are none the error is ErrNotFound, which is believed of no replica.
func (s *Store) Batch(ctx context.Context, stream, subject string, from uint64, n int) iter.Seq2[Message, error] {
	return func(yield func(Message, error) bool) {
		answers := make(chan *nats.Msg, n+1) // one for the end; takes every message as it is, unlike NextMsg
		sub, err := s.askBatch(stream, seqRequest{Seq: max(1, from), NextFor: subject, Batch: n}, answers)
		if err != nil {
			yield(Message{}, fmt.Errorf("read %s from %d on: %w", stream, from, err))
			return
		}
		defer func() { _ = sub.Unsubscribe() }() // fails only on a closed connection
		for last := uint64(0); ; {
			m, end, err := nextOf(ctx, answers, last)
			if err != nil {
				err = fmt.Errorf("read %s from %d on: %w", stream, from, err)
			}
			if end || !yield(m, err) || err != nil {
				return
			}
			last = m.Seq
		}
	}
}

func (s *Store) askBatch(stream string, q seqRequest, answers chan *nats.Msg) (*nats.Subscription, error) {
	body, err := json.Marshal(q)
	if err != nil {
		return nil, err
	}
	sub, err := s.NC.ChanSubscribe(s.NC.NewInbox(), answers)
	if err != nil {
		return nil, err
	}
	if err := s.NC.PublishRequest(s.API("DIRECT.GET."+stream), sub.Subject, body); err != nil {
		return nil, errors.Join(err, sub.Unsubscribe())
	}
	return sub, nil
}

// nextOf takes the next message of a batch, or its end. Each says which one the server
// sent before it: what a slow reader or a broken route swallowed is missed.
func nextOf(ctx context.Context, answers <-chan *nats.Msg, last uint64) (m Message, end bool, err error) {
	var r *nats.Msg
	select {
	case <-ctx.Done():
		return Message{}, false, ctx.Err()
	case r = <-answers:
	}
	switch status := statusOf(r); status {
	case "", "204":
		end = status != ""
	case "404":
		return Message{}, false, ErrNotFound
	case "503":
		return Message{}, false, nats.ErrNoResponders
	default:
		return Message{}, false, fmt.Errorf("status %s %s", status, r.Header.Get("Description"))
	}
	before, err := strconv.ParseUint(wire.Last(r.Header, "Nats-Last-Sequence"), 10, 64)
	if err != nil {
		return Message{}, false, fmt.Errorf("header Nats-Last-Sequence: %w", err)
	}
	if before != last {
		return Message{}, false, fmt.Errorf("what follows %d was lost on the way, up to %d", last, before)
	}
	if !end {
		m, err = fromDirect(r)
	}
	return m, end, err
}

// statusOf is the status of an answer that holds no message; "" of one that does,
// whatever headers that message has.
func statusOf(r *nats.Msg) string {
	if wire.Last(r.Header, "Nats-Sequence") != "" {
		return ""
	}
	return r.Header.Get("Status")
}
