package store

import (
	"context"
	"errors"
)

// ErrBehind says that the leader of the stream has nothing as new as the message that
// it was asked for: either that never was, or the leader has just been elected and does
// not show yet all that its predecessor acknowledged. Ask again.
var ErrBehind = errors.New("the stream's leader has nothing so new")

// confirmAbsent asks again, of a leader that has shown that it knows of something as
// new: a server leads from its election on, but may answer before it has taken in what
// was acknowledged by then.
func (s *Store) confirmAbsent(ctx context.Context, stream string, seq uint64) (m Message, err error) {
	_, err = s.underOneLead(ctx, stream, seq, func(Range) (found bool, err error) {
		m, err = s.leaderGet(ctx, stream, seqRequest{Seq: seq})
		if errors.Is(err, ErrNotFound) {
			return false, nil
		}
		return true, err
	})
	if err == nil && m.Seq == 0 {
		err = ErrNotFound
	}
	return m, err
}

// NothingFrom reports whether the leader of a stream confirms that it has no message
// from one sequence up to another, both included. It believes, like [Store.Get], only
// a leader that has shown that it knows of something as new as the last of them; the
// error is otherwise ErrBehind, or says that the lead changed: ask again.
func (s *Store) NothingFrom(ctx context.Context, stream string, from, last uint64) (none bool, err error) {
	_, err = s.underOneLead(ctx, stream, last, func(Range) (found bool, err error) {
		m, err := s.LeaderNext(ctx, stream, from)
		none = errors.Is(err, ErrNotFound) || err == nil && m.Seq > last
		if none {
			return false, nil
		}
		return true, err
	})
	return none && err == nil, err
}
