// Package storedpolicy keeps policy files in the store, where every broker finds
// them. Each is a version, numbered by its sequence in the stream POLICY; the
// newest counts, an empty one says that none does, and the last twenty are kept.
package storedpolicy

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"

	"fairlead/internal/store"
	"fairlead/wire"
)

// Version is a policy file as it was stored.
type Version struct {
	Seq      uint64    `json:"version"` // sequence in POLICY
	At       time.Time `json:"at"`      // when it was stored, by the store's clock
	Author   string    `json:"author,omitempty"`
	File     string    `json:"file,omitempty"`     // its name where it was written
	Restores uint64    `json:"restores,omitempty"` // the version that it repeats, 0 none
	Body     []byte    `json:"-"`                  // YAML; empty: from now on nothing stored counts
}

// Drop reports whether the version only ends what was in force before it.
func (v *Version) Drop() bool { return len(v.Body) == 0 }

// Shelf is the stream POLICY.
type Shelf struct{ Store *store.Store }

// All lists the versions that are kept, oldest first.
func (s Shelf) All(ctx context.Context) ([]Version, error) {
	var list []Version
	for next := uint64(1); ; {
		m, err := s.Store.LeaderNext(ctx, s.Store.Names.StreamPOLICY(), next)
		if errors.Is(err, store.ErrNotFound) {
			return list, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read stored policies: %w", err)
		}
		list = append(list, Read(m))
		next = m.Seq + 1
	}
}

// Put stores a version; its number and time are the store's. It returns the number.
func (s Shelf) Put(ctx context.Context, v Version) (uint64, error) {
	m := nats.NewMsg(s.Store.Names.Policy())
	m.Data = v.Body
	set := func(key, value string) {
		if value != "" {
			m.Header.Set(key, value)
		}
	}
	set(wire.HeaderPolicyAuthor, v.Author)
	set(wire.HeaderPolicyFile, v.File)
	if v.Restores != 0 {
		set(wire.HeaderPolicyRestores, strconv.FormatUint(v.Restores, 10))
	}
	ack, err := s.Store.JS.PublishMsg(ctx, m)
	if err != nil {
		return 0, fmt.Errorf("store policy: %w", err)
	}
	return ack.Sequence, nil
}

// Read reads a version from the message that holds it. Headers that are not as
// we write them are passed over: they are for people only.
func Read(m store.Message) Version {
	v := Version{
		Seq: m.Seq, At: m.Time, Author: m.Header.Get(wire.HeaderPolicyAuthor), File: m.Header.Get(wire.HeaderPolicyFile), Body: m.Data,
	}
	if n, err := strconv.ParseUint(m.Header.Get(wire.HeaderPolicyRestores), 10, 64); err == nil {
		v.Restores = n
	}
	return v
}
