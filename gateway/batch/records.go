package batch

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// Create makes a batch of a file that is there. b says what the client does.
func (s *Store) Create(ctx context.Context, b Batch) (Batch, error) {
	bs, err := s.open(ctx)
	if err != nil {
		return b, err
	}
	now := time.Now()
	if b.ID, err = newID("batch_", now); err != nil {
		return b, err
	}
	b.Status, b.CreatedAt, b.ExpiresAt = Validating, now.Unix(), now.Add(s.limits.Completion).Unix()
	// The mark is first: a batch without one would never be run.
	if _, err := bs.records.Put(ctx, activeKey(b.ID), []byte(b.Owner)); err != nil {
		return b, fmt.Errorf("create a batch: %w", err)
	}
	if _, err := bs.records.Create(ctx, batchKey(b.Owner, b.ID), encode(b)); err != nil {
		return b, fmt.Errorf("create a batch: %w", err)
	}
	return b, nil
}

// Batch is what is known of a batch; ErrNotFound when there is none.
func (s *Store) Batch(ctx context.Context, owner, id string) (b Batch, err error) {
	bs, err := s.open(ctx)
	if err != nil {
		return b, err
	}
	_, err = s.get(ctx, bs.records, batchKey(owner, id), &b)
	return b, err
}

// Cancel asks a batch to end; whoever runs it does so. One that has ended is
// ErrEnded.
func (s *Store) Cancel(ctx context.Context, owner, id string) (Batch, error) {
	return s.change(ctx, owner, id, func(b *Batch) error {
		switch {
		case b.Status.Ended():
			return ErrEnded
		case b.Status == Validating || b.Status == InProgress:
			b.Status, b.CancellingAt = Cancelling, time.Now().Unix()
		}
		return nil
	})
}

// change changes a record, and again when somebody else was first.
func (s *Store) change(ctx context.Context, owner, id string, f func(*Batch) error) (Batch, error) {
	bs, err := s.open(ctx)
	if err != nil {
		return Batch{}, err
	}
	for {
		var b Batch
		revision, err := s.get(ctx, bs.records, batchKey(owner, id), &b)
		if err == nil {
			err = f(&b)
		}
		if err != nil {
			return b, err
		}
		_, err = bs.records.Update(ctx, batchKey(owner, id), encode(b), revision)
		if err == nil {
			return b, nil
		}
		if !conflict(err) {
			return b, fmt.Errorf("change the batch %s: %w", id, err)
		}
	}
}

// conflict reports that a key was, or is being, changed by somebody else.
func conflict(err error) bool {
	var api *jetstream.APIError
	return errors.As(err, &api) &&
		(api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence || api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequenceConstant)
}
