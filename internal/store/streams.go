package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Options are what a deployment chooses about its streams. Zero means default.
type Options struct {
	Replicas   int           // 1, 3 or 5; default 1
	Memory     bool          // keep the streams in memory: nothing survives the server
	MaxBytes   int64         // of REQ, bytes; default unlimited. Publishers get the store's error beyond it
	MaxAsked   int64         // requests on one subject of REQ, the backstop while no broker leads; default no limit
	ResMaxAge  time.Duration // how long results wait to be read; default 1 h
	ResBytes   int64         // of RES, bytes; default 1 GiB, the oldest go first
	BodyBytes  int64         // of the bucket for bodies that no message can carry; default 1 GiB, then asking with such a body fails
	BodyMaxAge time.Duration // how long such a body is kept when nobody removes it; default 24 h
	DeadBytes  int64         // of DEAD, bytes; default 1 GiB, then giving up fails until there is room
}

const (
	dedupWindow      = 30 * time.Second
	deadWindow       = 24 * time.Hour
	defaultResMaxAge = time.Hour
	defaultBytes     = 1 << 30
	defaultBodyAge   = 24 * time.Hour
	maxConsumers     = 100_000 // one for each agent on WORK
	policyVersions   = 20      // the policy in force and its predecessors
)

func (o Options) withDefaults() Options {
	if o.Replicas == 0 {
		o.Replicas = 1
	}
	if o.MaxBytes == 0 {
		o.MaxBytes = -1
	}
	if o.ResMaxAge == 0 {
		o.ResMaxAge = defaultResMaxAge
	}
	if o.ResBytes == 0 {
		o.ResBytes = defaultBytes
	}
	if o.DeadBytes == 0 {
		o.DeadBytes = defaultBytes
	}
	if o.BodyBytes == 0 {
		o.BodyBytes = defaultBytes
	}
	if o.BodyMaxAge == 0 {
		o.BodyMaxAge = defaultBodyAge
	}
	return o
}

// Configs are the streams of one Fairlead.
func (s *Store) Configs(o Options) []jetstream.StreamConfig {
	o = o.withDefaults()
	n := s.Names
	base := func(name string) jetstream.StreamConfig {
		c := jetstream.StreamConfig{
			Name: name, Subjects: n.Captured(name), Storage: jetstream.FileStorage, Replicas: o.Replicas,
			Retention: jetstream.LimitsPolicy, Discard: jetstream.DiscardNew, Duplicates: dedupWindow,
			AllowDirect: true, MaxConsumers: maxConsumers,
		}
		if o.Memory {
			c.Storage = jetstream.MemoryStorage
		}
		return c
	}
	req, work, done, res, dead := base(n.StreamREQ()), base(n.StreamWORK()), base(n.StreamDONE()), base(n.StreamRES()), base(n.StreamDEAD())
	req.Description, req.AllowMsgTTL, req.MaxBytes = "what has been asked", true, o.MaxBytes
	if o.MaxAsked > 0 { // a full class refuses its publishers, whoever leads; the others go on
		req.MaxMsgsPerSubject, req.DiscardNewPerSubject = o.MaxAsked, true
	}
	work.Description, work.Retention = "what has been handed out, and who may hand out", jetstream.WorkQueuePolicy
	work.AllowMsgTTL, work.AllowRollup, work.AllowAtomicPublish = true, true, true
	done.Description = "what has finished"
	res.Description, res.MaxAge, res.MaxBytes, res.Discard = "results nobody waited for", o.ResMaxAge, o.ResBytes, jetstream.DiscardOld
	dead.Description, dead.MaxBytes = "requests given up", o.DeadBytes
	dead.Duplicates = deadWindow // a leader may take that long to finish what another began
	policy := base(n.StreamPOLICY())
	policy.Description, policy.MaxMsgsPerSubject, policy.Discard = "the policy that brokers follow, and those before it", policyVersions, jetstream.DiscardOld
	// REQ comes last: nothing is acknowledged before it can be served.
	return []jetstream.StreamConfig{work, done, res, dead, policy, req}
}

// Ensure creates the bucket and the streams that are missing and checks the streams that are there.
// A stream with a foreign configuration is an error that names the field.
func (s *Store) Ensure(ctx context.Context, o Options) error {
	if err := s.ensureBodies(ctx, o); err != nil {
		return fmt.Errorf("bucket %s: %w", s.Names.BucketBodies(), explain(err))
	}
	for _, want := range s.Configs(o) {
		if err := s.ensure(ctx, want); err != nil {
			return fmt.Errorf("stream %s: %w", want.Name, explain(err))
		}
	}
	return nil
}

func (s *Store) ensure(ctx context.Context, want jetstream.StreamConfig) error {
	have, err := s.JS.Stream(ctx, want.Name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		// A recreated stream must never repeat a sequence: guards, ids and
		// incarnations are sequences (protocol, rule 12).
		want.FirstSeq = uint64(time.Now().UnixMicro())
		_, err = s.JS.CreateStream(ctx, want)
		if !errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) {
			return err
		}
		have, err = s.JS.Stream(ctx, want.Name) // another broker was first
	}
	if err != nil {
		return err
	}
	return Check(have.CachedInfo().Config, want)
}

// Check compares a stream with what Fairlead needs. Limits of size and age,
// replicas and the dedup window are the operator's to change.
func Check(have, want jetstream.StreamConfig) error {
	haveSubjects, wantSubjects := slices.Sorted(slices.Values(have.Subjects)), slices.Sorted(slices.Values(want.Subjects))
	for _, f := range []struct {
		name       string
		have, want any
	}{
		{"subjects", fmt.Sprint(haveSubjects), fmt.Sprint(wantSubjects)},
		{"retention", have.Retention, want.Retention},
		{"discard", have.Discard, want.Discard},
		{"allow_direct", have.AllowDirect, want.AllowDirect},
		{"allow_msg_ttl", have.AllowMsgTTL || !want.AllowMsgTTL, true},
		{"allow_rollup_hdrs", have.AllowRollup || !want.AllowRollup, true},
		{"allow_atomic", have.AllowAtomicPublish || !want.AllowAtomicPublish, true},
		{"sealed", have.Sealed, false},
		{"deny_delete", have.DenyDelete, false},
		{"deny_purge", have.DenyPurge, false},
		{"no_ack", have.NoAck, false},
	} {
		if f.have != f.want {
			return &ForeignError{Field: f.name, Have: fmt.Sprint(f.have), Want: fmt.Sprint(f.want)}
		}
	}
	return nil
}

// ForeignError says that a stream of this name exists and is not Fairlead's.
type ForeignError struct{ Field, Have, Want string }

// Error names the field and what to do.
func (e *ForeignError) Error() string {
	return fmt.Sprintf("has a foreign configuration: %s is %s, want %s; edit or remove the stream, or use a namespace of your own", e.Field, e.Have, e.Want)
}

// explain adds what an operator can do about a server's refusal.
func explain(err error) error {
	var api *jetstream.APIError
	switch {
	case errors.Is(err, jetstream.ErrJetStreamNotEnabled), errors.Is(err, jetstream.ErrJetStreamNotEnabledForAccount):
		return fmt.Errorf("JetStream is off on this server or account; start nats-server with -js, or enable it for the account: %w", err)
	case errors.Is(err, nats.ErrNoResponders):
		return fmt.Errorf("no JetStream answers on this connection; start nats-server with -js and check the account's permissions: %w", err)
	case errors.As(err, &api) && api.ErrorCode == CodeStorageResources:
		return fmt.Errorf("the server or account has no room to reserve for it; free space, raise its limit, or lower --result-max-bytes and --dead-max-bytes: %w", err)
	}
	return err
}

// Permanent reports whether an error of [Store.Ensure] needs a person: waiting
// will not mend it.
func Permanent(err error) bool {
	var foreign *ForeignError
	return errors.As(err, &foreign) || errors.Is(err, jetstream.ErrJetStreamNotEnabled) ||
		errors.Is(err, jetstream.ErrJetStreamNotEnabledForAccount)
}
