package batch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"fairlead/internal/store"
)

// Limits are of what batches may take. A zero field takes its default.
type Limits struct {
	FileBytes  int64         // of one file; default 100 MiB
	AllFiles   int64         // bytes of all files together; default 1 GiB
	AllLines   int64         // bytes of the results of running batches; default 1 GiB
	Keep       time.Duration // files and batches; default 30 days
	Lines      int           // of one batch; default 50,000
	LineBytes  int64         // of one line; default 64 MiB. A gateway goes by its largest body
	Window     int           // lines of one batch under way; default 32
	Batches    int           // that one gateway runs at once; default 4
	Replicas   int           // of the buckets, when this gateway creates them; default 1
	Completion time.Duration // from the creation of a batch to its expiry; default 24 h
	Lease      time.Duration // how long a dead runner holds its batch, when this gateway creates the bucket; default 15 s
}

// WithDefaults fills in what is 0.
func (l Limits) WithDefaults() Limits {
	or := func(p *int64, v int64) {
		if *p == 0 {
			*p = v
		}
	}
	orInt := func(p *int, v int) {
		if *p == 0 {
			*p = v
		}
	}
	orTime := func(p *time.Duration, v time.Duration) {
		if *p == 0 {
			*p = v
		}
	}
	or(&l.FileBytes, 100<<20)
	or(&l.LineBytes, 64<<20)
	or(&l.AllFiles, 1<<30)
	or(&l.AllLines, 1<<30)
	orTime(&l.Keep, 30*24*time.Hour)
	orInt(&l.Lines, 50_000)
	orInt(&l.Window, 32)
	orInt(&l.Batches, 4)
	orInt(&l.Replicas, 1)
	orTime(&l.Completion, 24*time.Hour)
	orTime(&l.Lease, 15*time.Second)
	return l
}

// Check names the field that is out of range.
func (l Limits) Check() error {
	l = l.WithDefaults()
	for _, f := range []struct {
		name string
		n    int64
	}{{"file bytes", l.FileBytes}, {"bytes of all files", l.AllFiles}, {"bytes of all lines", l.AllLines}, {"lines", int64(l.Lines)},
		{"lines under way", int64(l.Window)}, {"batches at once", int64(l.Batches)}, {"replicas", int64(l.Replicas)},
		{"keep", int64(l.Keep)}, {"completion", int64(l.Completion)}, {"lease", int64(l.Lease)}} {
		if f.n < 1 {
			return fmt.Errorf("batches: %s: %d; want at least 1", f.name, f.n)
		}
	}
	return nil
}

// Store keeps files and batches. It is safe for concurrent use.
type Store struct {
	js     jetstream.JetStream
	leader *store.Store // asks the leaders of the buckets
	prefix string       // of the buckets
	limits Limits

	mu      sync.Mutex // guards buckets, and is held while they are opened
	buckets *buckets
}

type buckets struct {
	files   jetstream.ObjectStore
	records jetstream.KeyValue
	lines   jetstream.KeyValue
	leases  jetstream.KeyValue
}

// NewStore makes a store on a connection, for an account that knows JetStream's API
// by a prefix, "" for its own; it sends nothing.
func NewStore(nc *nats.Conn, namespace, apiPrefix string, l Limits) (*Store, error) {
	js, err := jetstream.New(nc)
	if apiPrefix != "" {
		js, err = jetstream.NewWithAPIPrefix(nc, apiPrefix)
	}
	if err != nil {
		return nil, fmt.Errorf("batches: %w", err)
	}
	s := &Store{js: js, leader: &store.Store{NC: nc, JS: js}, limits: l.WithDefaults()}
	if namespace != "" {
		s.prefix = namespace + "_"
	}
	return s, nil
}

// open opens the buckets, and creates those that are missing.
func (s *Store) open(ctx context.Context) (*buckets, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.buckets != nil {
		return s.buckets, nil
	}
	b, err := s.openAll(ctx)
	if err != nil {
		return nil, fmt.Errorf("open the buckets for batches: %w", err)
	}
	s.buckets = b
	return b, nil
}

func (s *Store) openAll(ctx context.Context) (b *buckets, err error) {
	b = &buckets{}
	l := s.limits
	if b.files, err = s.objects(ctx, filesBucket); err != nil {
		return nil, err
	}
	if b.records, err = s.keyed(ctx, jetstream.KeyValueConfig{Bucket: "GATEWAY", Description: "what is known of files and batches", TTL: l.Keep}); err != nil {
		return nil, err
	}
	if b.lines, err = s.keyed(ctx, jetstream.KeyValueConfig{Bucket: "BATCH_LINES", Description: "lines of batches that run", TTL: l.Keep, MaxBytes: l.AllLines}); err != nil {
		return nil, err
	}
	b.leases, err = s.keyed(ctx, jetstream.KeyValueConfig{Bucket: leasesBucket, Description: "who runs a batch", TTL: l.Lease})
	return b, err
}

// The buckets that are created first and last.
const (
	filesBucket  = "FILES"
	leasesBucket = "BATCH_LEASES"
)

func (s *Store) objects(ctx context.Context, name string) (jetstream.ObjectStore, error) {
	name = s.prefix + name
	b, err := s.js.ObjectStore(ctx, name)
	if !errors.Is(err, jetstream.ErrBucketNotFound) {
		return b, err
	}
	b, err = s.js.CreateObjectStore(ctx, jetstream.ObjectStoreConfig{Bucket: name, Description: "files of batches",
		TTL: s.limits.Keep, MaxBytes: s.limits.AllFiles, Replicas: s.limits.Replicas})
	if errors.Is(err, jetstream.ErrBucketExists) { // another gateway was first
		return s.js.ObjectStore(ctx, name)
	}
	return b, err
}

func (s *Store) keyed(ctx context.Context, cfg jetstream.KeyValueConfig) (jetstream.KeyValue, error) {
	cfg.Bucket, cfg.Replicas = s.prefix+cfg.Bucket, s.limits.Replicas
	b, err := s.js.KeyValue(ctx, cfg.Bucket)
	if !errors.Is(err, jetstream.ErrBucketNotFound) {
		return b, err
	}
	b, err = s.js.CreateKeyValue(ctx, cfg)
	if errors.Is(err, jetstream.ErrBucketExists) { // the same
		return s.js.KeyValue(ctx, cfg.Bucket)
	}
	return b, err
}

// exists reports whether anybody has used batches at all, without creating the
// buckets. An error says that this cannot be found out.
func (s *Store) exists(ctx context.Context) (bool, error) {
	s.mu.Lock()
	opened := s.buckets != nil
	s.mu.Unlock()
	if opened {
		return true, nil
	}
	_, err := s.js.KeyValue(ctx, s.prefix+leasesBucket)
	if errors.Is(err, jetstream.ErrBucketNotFound) {
		return false, nil
	}
	return err == nil, err
}

// Keys of the records. An active batch has a mark, so that runners need not look
// through all of them.
func fileKey(owner, id string) string  { return "file." + owner + "." + id }
func batchKey(owner, id string) string { return "batch." + owner + "." + id }
func activeKey(id string) string       { return "active." + id }

func encode(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("batch: encode %T: %v", v, err)) // strings, numbers and JSON that was read
	}
	return data
}

// Keep is how long files and batches are kept.
func (s *Store) Keep() time.Duration { return s.limits.Keep }
