package store

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"
)

// ErrTooLarge says that a body is over the reader's limit.
var ErrTooLarge = errors.New("body is over the limit")

// ensureBodies creates the bucket for bodies that no message can carry, unless it
// is there. Its limits are the operator's to change.
func (s *Store) ensureBodies(ctx context.Context, o Options) error {
	o = o.withDefaults()
	_, err := s.JS.ObjectStore(ctx, s.Names.BucketBodies())
	if !errors.Is(err, jetstream.ErrBucketNotFound) {
		return err
	}
	cfg := jetstream.ObjectStoreConfig{
		Bucket: s.Names.BucketBodies(), Description: "bodies of requests that no message can carry",
		TTL: o.BodyMaxAge, MaxBytes: o.BodyBytes, Replicas: o.Replicas, Storage: jetstream.FileStorage,
	}
	if o.Memory {
		cfg.Storage = jetstream.MemoryStorage
	}
	_, err = s.JS.CreateObjectStore(ctx, cfg)
	if errors.Is(err, jetstream.ErrBucketExists) { // another broker was first
		return nil
	}
	return err
}

// maxChunk is how much of a body is in one message, bytes, when the server allows
// it.
const maxChunk = 256 << 10

// PutBody keeps the body of a request under a name.
func (s *Store) PutBody(ctx context.Context, name string, data []byte) error {
	bucket, err := s.JS.ObjectStore(ctx, s.Names.BucketBodies())
	if err == nil {
		meta := jetstream.ObjectMeta{Name: name, Opts: &jetstream.ObjectMetaOptions{ChunkSize: uint32(min(maxChunk, s.NC.MaxPayload()/2))}}
		_, err = bucket.Put(ctx, meta, bytes.NewReader(data))
	}
	if err != nil {
		return fmt.Errorf("put a body into %s: %w", s.Names.BucketBodies(), err)
	}
	return nil
}

// GetBody reads a body of at most limit bytes, and checks it against its digest.
// One that is not there, or not all of it, as the leader of its stream says, is
// ErrNotFound; a leader that has just been elected may say so of what is there. A longer
// one is ErrTooLarge. It uses direct gets alone, which an agent in an account of its
// own can be given; the library's reader needs a consumer.
func (s *Store) GetBody(ctx context.Context, name string, limit int64) ([]byte, error) {
	m, err := s.LeaderLast(ctx, s.bodiesStream(), s.bodyMeta(name))
	if err != nil {
		return nil, err
	}
	var meta jetstream.ObjectInfo
	switch err := json.Unmarshal(m.Data, &meta); {
	case err != nil:
		return nil, fmt.Errorf("read what is known of the body %s: %w", name, err)
	case meta.Deleted:
		return nil, ErrNotFound
	case meta.Size > uint64(max(limit, 0)):
		return nil, ErrTooLarge
	}
	return s.readBody(ctx, &meta)
}

// readBody puts the pieces of a body together.
func (s *Store) readBody(ctx context.Context, meta *jetstream.ObjectInfo) ([]byte, error) {
	data, sum := make([]byte, 0, meta.Size), sha256.New()
	req := seqRequest{Seq: 1, NextFor: s.bodyChunks(meta.NUID)}
	for uint64(len(data)) < meta.Size {
		m, err := s.next(ctx, s.bodiesStream(), req)
		if errors.Is(err, ErrNotFound) { // it is being removed, or was cut short
			return nil, ErrNotFound
		}
		if err != nil {
			return nil, fmt.Errorf("read the body %s: %w", meta.Name, err)
		}
		if uint64(len(data)+len(m.Data)) > meta.Size {
			return nil, fmt.Errorf("the body %s is longer than it says", meta.Name)
		}
		data = append(data, m.Data...)
		sum.Write(m.Data)
		req.Seq = m.Seq + 1
	}
	if got := "SHA-256=" + base64.URLEncoding.EncodeToString(sum.Sum(nil)); got != meta.Digest {
		return nil, fmt.Errorf("the body %s does not have its digest", meta.Name)
	}
	return data, nil
}

// next reads the first message that a request fits, from any replica, and when that
// one has none, from the leader.
func (s *Store) next(ctx context.Context, stream string, req seqRequest) (Message, error) {
	r, err := s.request(ctx, "DIRECT.GET."+stream, req)
	if err == nil && r.Header.Get("Status") == "" {
		return fromDirect(r)
	}
	return s.leaderGet(ctx, stream, req)
}

func (s *Store) bodiesStream() string { return "OBJ_" + s.Names.BucketBodies() }

// bodyMeta is where the object store keeps what it knows of an object, bodyChunks
// where it keeps the pieces.
func (s *Store) bodyMeta(name string) string {
	return "$O." + s.Names.BucketBodies() + ".M." + base64.URLEncoding.EncodeToString([]byte(name))
}

func (s *Store) bodyChunks(nuid string) string { return "$O." + s.Names.BucketBodies() + ".C." + nuid }

// DeleteBody removes a body and every trace of it; one that is not there is no
// error.
func (s *Store) DeleteBody(ctx context.Context, name string) error {
	m, err := s.LeaderLast(ctx, s.bodiesStream(), s.bodyMeta(name))
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	var meta jetstream.ObjectInfo
	if err == nil {
		err = json.Unmarshal(m.Data, &meta)
	}
	if err == nil {
		err = s.purgeSubject(ctx, s.bodiesStream(), s.bodyMeta(name))
	}
	if err == nil && meta.NUID != "" {
		err = s.purgeSubject(ctx, s.bodiesStream(), s.bodyChunks(meta.NUID))
	}
	if err != nil {
		return fmt.Errorf("delete the body %s: %w", name, err)
	}
	return nil
}

// purgeSubject removes every message on a subject.
func (s *Store) purgeSubject(ctx context.Context, stream, subject string) error {
	return s.command(ctx, "STREAM.PURGE."+stream, struct {
		Filter string `json:"filter"`
	}{subject})
}
