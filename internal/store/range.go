package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// Range is what the leader of a stream says of its contents.
type Range struct {
	First, Last uint64 // sequences; First = Last + 1 when empty
	Messages    uint64
	Bytes       uint64
	MaxBytes    int64  // that it may have; -1 for no limit
	Leader      string // name of the server

	group string    // of the replicas; "" when there is only one
	since time.Time // when the leader's lead began
}

// Range asks the leader of a stream for its first and last sequence and its size. A
// leader that has just been elected may leave out the newest that was acknowledged: a
// decision that rests on the end of a stream needs [Store.CommittedRange].
func (s *Store) Range(ctx context.Context, stream string) (Range, error) {
	var resp struct {
		Error *jetstream.APIError `json:"error"`
		State struct {
			First    uint64 `json:"first_seq"`
			Last     uint64 `json:"last_seq"`
			Messages uint64 `json:"messages"`
			Bytes    uint64 `json:"bytes"`
		} `json:"state"`
		Config struct {
			MaxBytes int64 `json:"max_bytes"`
		} `json:"config"`
		Cluster struct {
			Group  string    `json:"raft_group"`
			Leader string    `json:"leader"`
			Since  time.Time `json:"leader_since"`
		} `json:"cluster"`
	}
	if err := s.call(ctx, "STREAM.INFO."+stream, nil, &resp); err != nil {
		return Range{}, fmt.Errorf("info of %s: %w", stream, err)
	}
	if resp.Error != nil {
		return Range{}, fmt.Errorf("info of %s: %w", stream, resp.Error)
	}
	st, c := resp.State, resp.Cluster
	if c.Group != "" && c.Leader == "" { // any replica answers then, however far behind
		return Range{}, fmt.Errorf("info of %s: nobody leads it", stream)
	}
	return Range{
		First: st.First, Last: st.Last, Messages: st.Messages, Bytes: st.Bytes, MaxBytes: resp.Config.MaxBytes,
		Leader: c.Leader, group: c.Group, since: c.Since,
	}, nil
}

// CommittedRange is Range from a leader that has taken in everything that was
// acknowledged before the call. It writes to the log that the replicas share, so it is
// not for what happens often.
func (s *Store) CommittedRange(ctx context.Context, stream string) (Range, error) {
	return s.underOneLead(ctx, stream, 0, func(r Range) (bool, error) {
		if r.group == "" {
			return true, nil // the only replica has acknowledged by itself
		}
		return false, s.barrier(ctx, stream)
	})
}

// barrier returns once the leader of a replicated stream has taken in all that was
// acknowledged before: it takes its log in order, answers a delete only when it comes to
// it there, and a delete of what cannot exist changes nothing.
func (s *Store) barrier(ctx context.Context, stream string) error {
	err := s.Untouched(ctx, stream)
	var api *jetstream.APIError
	if errors.As(err, &api) && (api.ErrorCode == CodeSequenceNotFound || api.ErrorCode == CodeMsgDeleteFailed) {
		return nil
	}
	return fmt.Errorf("wait for the leader of %s: %w", stream, err)
}

// underOneLead asks the leader of a stream something, when that shows that it knows of
// a sequence as new as newest. Answers do not say who gave them, so this one is believed
// only when the same leader leads before and after, unless it is certain by itself. The
// range is the last one that was told.
func (s *Store) underOneLead(ctx context.Context, stream string, newest uint64, ask func(Range) (certain bool, err error)) (Range, error) {
	before, err := s.Range(ctx, stream)
	if err != nil {
		return Range{}, err
	}
	if before.Last < newest {
		return Range{}, fmt.Errorf("look for %d in %s, whose last is %d: %w", newest, stream, before.Last, ErrBehind)
	}
	if certain, err := ask(before); err != nil || certain {
		return before, err
	}
	after, err := s.Range(ctx, stream)
	if err != nil {
		return Range{}, err
	}
	if after.Leader != before.Leader || !after.since.Equal(before.since) {
		return Range{}, fmt.Errorf("the lead of %s went from %q to %q meanwhile", stream, before.Leader, after.Leader)
	}
	return after, nil
}
