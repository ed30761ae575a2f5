package store

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"

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
// One that is not there, which only the leader of its stream is believed, is
// ErrNotFound; a longer one is ErrTooLarge.
func (s *Store) GetBody(ctx context.Context, name string, limit int64) ([]byte, error) {
	bucket, err := s.JS.ObjectStore(ctx, s.Names.BucketBodies())
	if err != nil {
		return nil, fmt.Errorf("open the bucket %s: %w", s.Names.BucketBodies(), err)
	}
	data, err := readObject(ctx, bucket, name, limit)
	if errors.Is(err, jetstream.ErrObjectNotFound) && s.bodyIsGone(ctx, name) {
		return nil, ErrNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("get the body %s: %w", name, err)
	}
	return data, nil
}

func readObject(ctx context.Context, bucket jetstream.ObjectStore, name string, limit int64) ([]byte, error) {
	obj, err := bucket.Get(ctx, name)
	if err != nil {
		return nil, err
	}
	defer obj.Close()
	info, err := obj.Info()
	if err != nil {
		return nil, err
	}
	if info.Size > uint64(max(limit, 0)) {
		return nil, ErrTooLarge
	}
	data := make([]byte, info.Size)
	if _, err := io.ReadFull(obj, data); err != nil {
		return nil, err
	}
	_, err = io.Copy(io.Discard, obj) // its end checks the digest
	return data, errors.Join(err, obj.Error())
}

// bodyIsGone asks the leader whether there is no such body: a replica may be behind.
func (s *Store) bodyIsGone(ctx context.Context, name string) bool {
	m, err := s.LeaderLast(ctx, s.bodiesStream(), s.bodyMeta(name))
	if errors.Is(err, ErrNotFound) {
		return true
	}
	var meta struct {
		Deleted bool `json:"deleted"`
	}
	return err == nil && json.Unmarshal(m.Data, &meta) == nil && meta.Deleted
}

func (s *Store) bodiesStream() string { return "OBJ_" + s.Names.BucketBodies() }

// bodyMeta is where the object store keeps what it knows of an object.
func (s *Store) bodyMeta(name string) string {
	return "$O." + s.Names.BucketBodies() + ".M." + base64.URLEncoding.EncodeToString([]byte(name))
}

// DeleteBody removes a body and every trace of it; one that is not there is no
// error.
func (s *Store) DeleteBody(ctx context.Context, name string) error {
	bucket, err := s.JS.ObjectStore(ctx, s.Names.BucketBodies())
	if err != nil {
		return fmt.Errorf("open the bucket %s: %w", s.Names.BucketBodies(), err)
	}
	if err := bucket.Delete(ctx, name); err != nil && !errors.Is(err, jetstream.ErrObjectNotFound) {
		return fmt.Errorf("delete the body %s: %w", name, err)
	}
	// What is left is the mark of a deletion.
	filter := struct {
		Filter string `json:"filter"`
	}{s.bodyMeta(name)}
	if err := s.command(ctx, "STREAM.PURGE."+s.bodiesStream(), filter); err != nil {
		return fmt.Errorf("delete the body %s: %w", name, err)
	}
	return nil
}
