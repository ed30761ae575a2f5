package batch

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"fairlead/internal/store"
)

// errBehind says that what was read cannot be all: ask again.
var errBehind = errors.New("the store does not show yet all that was written")

// settle is how long the absence of what should be there is not believed: another
// write may be on its way, and a leader that was just elected may not show it yet.
const settle = time.Minute

// get reads a record, as the leader of its bucket has it: a replica that is behind
// would not show what was just written. One that is not there is ErrNotFound.
func (s *Store) get(ctx context.Context, kv jetstream.KeyValue, key string, to any) (revision uint64, err error) {
	if !validKey(key) {
		return 0, ErrNotFound
	}
	m, err := s.last(ctx, kv, key)
	if err != nil {
		return 0, err
	}
	if err := json.Unmarshal(m.Data, to); err != nil {
		return 0, fmt.Errorf("read %s: %w", key, err)
	}
	return m.Seq, nil
}

// last is what the leader of a bucket has of a key, which may end in a wildcard.
func (s *Store) last(ctx context.Context, kv jetstream.KeyValue, key string) (store.Message, error) {
	m, err := s.leader.LeaderLast(ctx, "KV_"+kv.Bucket(), "$KV."+kv.Bucket()+"."+key)
	switch {
	case errors.Is(err, store.ErrNotFound), err == nil && m.Header.Get("KV-Operation") != "":
		return store.Message{}, ErrNotFound
	case err != nil:
		return store.Message{}, fmt.Errorf("read %s: %w", key, err)
	}
	return m, nil
}

// gone is ErrNotFound when the content of a file is not there, and errBehind when
// a replica only does not have it yet.
func (s *Store) gone(ctx context.Context, b *buckets, owner, id string) error {
	known, err := s.last(ctx, b.records, fileKey(owner, id))
	switch {
	case err != nil:
		return err
	case time.Since(known.Time) < settle: // its content was there before
		return fmt.Errorf("open the file %s: %w", id, errBehind)
	}
	bucket := s.prefix + filesBucket
	m, err := s.leader.LeaderLast(ctx, "OBJ_"+bucket, "$O."+bucket+".M."+base64.URLEncoding.EncodeToString([]byte(id)))
	var info jetstream.ObjectInfo
	switch {
	case errors.Is(err, store.ErrNotFound):
		return ErrNotFound
	case err != nil:
		return fmt.Errorf("open the file %s: %w", id, err)
	case json.Unmarshal(m.Data, &info) != nil || info.Deleted:
		return ErrNotFound
	}
	return fmt.Errorf("open the file %s: %w", id, errBehind)
}

// validKey keeps what a client calls an id from being more than one.
func validKey(key string) bool {
	return strings.Count(key, ".") <= 2 && !strings.ContainsAny(key, "*> \t\r\n") && !strings.HasSuffix(key, ".") && len(key) < 256 && !strings.Contains(key, "..")
}

// list lists the last tokens of keys that match, the newest id first.
func list(ctx context.Context, kv jetstream.KeyValue, filter string) ([]string, error) {
	lister, err := kv.ListKeysFiltered(ctx, filter)
	if errors.Is(err, jetstream.ErrNoKeysFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", filter, err)
	}
	defer func() { _ = lister.Stop() }() // it has ended by itself, or its connection has
	var ids []string
	for key := range lister.Keys() {
		ids = append(ids, key[strings.LastIndexByte(key, '.')+1:])
	}
	slices.Sort(ids)
	slices.Reverse(ids)
	return ids, nil
}
