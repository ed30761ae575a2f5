package store

import (
	"context"
	"errors"
	"fmt"
)

// ErrBehind says that the leader of the stream has nothing as new as the message that
// it was asked for: either that never was, or the leader has just been elected and does
// not show yet all that its predecessor acknowledged. Ask again.
var ErrBehind = errors.New("the stream's leader has nothing so new")

// confirmAbsent asks again, of a leader that has shown that it knows of something as
// new: a server leads from its election on, but may answer before it has taken in what
// was acknowledged by then. That the same one leads afterwards says who answered.
func (s *Store) confirmAbsent(ctx context.Context, stream string, seq uint64) (Message, error) {
	before, err := s.Range(ctx, stream)
	if err != nil {
		return Message{}, err
	}
	if before.Last < seq {
		return Message{}, fmt.Errorf("get %d of %s, whose last is %d: %w", seq, stream, before.Last, ErrBehind)
	}
	m, err := s.leaderGet(ctx, stream, seqRequest{Seq: seq})
	if !errors.Is(err, ErrNotFound) {
		return m, err
	}
	after, err := s.Range(ctx, stream)
	if err != nil {
		return Message{}, err
	}
	if after.Leader != before.Leader {
		return Message{}, fmt.Errorf("get %d of %s: the lead went from %q to %q meanwhile", seq, stream, before.Leader, after.Leader)
	}
	return Message{}, ErrNotFound
}

// NothingFrom reports whether the leader of a stream confirms that it has no message
// from one sequence up to another, both included. It believes, like [Store.Get], only
// a leader that has shown that it knows of something as new as the last of them; the
// error is otherwise ErrBehind, or says that the lead changed: ask again.
func (s *Store) NothingFrom(ctx context.Context, stream string, from, last uint64) (bool, error) {
	before, err := s.Range(ctx, stream)
	if err != nil {
		return false, err
	}
	if before.Last < last {
		return false, fmt.Errorf("look for %d of %s, whose last is %d: %w", last, stream, before.Last, ErrBehind)
	}
	m, err := s.LeaderNext(ctx, stream, from)
	if err != nil && !errors.Is(err, ErrNotFound) || err == nil && m.Seq <= last {
		return false, err
	}
	after, err := s.Range(ctx, stream)
	if err != nil {
		return false, err
	}
	if after.Leader != before.Leader {
		return false, fmt.Errorf("look for %d of %s: the lead went from %q to %q meanwhile", last, stream, before.Leader, after.Leader)
	}
	return true, nil
}
