// Package tape records what WORK and DONE store while a system runs. The streams
// republish each message, with its sequence, when their leader has stored it; a
// listener at each node of the cluster hears it. What a leader stored and did
// not live to tell is missing, and known to be: sequences have no holes of their
// own.
package tape

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"fairlead/chaos/check"
	"fairlead/internal/store"
	"fairlead/wire"
)

const prefix = "tape."

// Arm makes the streams republish what they store.
func Arm(ctx context.Context, st *store.Store) error {
	for _, name := range []string{st.Names.StreamWORK(), st.Names.StreamDONE()} {
		s, err := st.JS.Stream(ctx, name)
		if err != nil {
			return fmt.Errorf("arm %s: %w", name, err)
		}
		cfg := s.CachedInfo().Config
		cfg.RePublish = &jetstream.RePublish{Source: ">", Destination: prefix + ">"}
		if _, err := st.JS.UpdateStream(ctx, cfg); err != nil {
			return fmt.Errorf("arm %s: %w", name, err)
		}
	}
	return nil
}

// Recorder listens. Its methods are safe for concurrent use.
type Recorder struct {
	names   wire.Names
	conns   []*nats.Conn
	start   time.Time
	claimed func(check.Claim)

	mu   sync.Mutex // guards what follows
	work map[uint64]struct{}
	done map[uint64]struct{}
	tape check.Tape
	bad  error
}

// Record starts a listener at each node; its times count from start. Claimed is
// called for each claim, once, and must not block.
func Record(urls []string, start time.Time, claimed func(check.Claim)) (*Recorder, error) {
	r := &Recorder{start: start, claimed: claimed, work: map[uint64]struct{}{}, done: map[uint64]struct{}{}}
	for _, url := range urls {
		nc, err := nats.Connect(url, append(store.Reconnect("tape"), nats.DontRandomize(), nats.IgnoreDiscoveredServers())...)
		if err != nil {
			r.Close()
			return nil, fmt.Errorf("tape: %w", err)
		}
		r.conns = append(r.conns, nc)
		sub, err := nc.Subscribe(prefix+">", r.hear)
		if err == nil {
			err = sub.SetPendingLimits(-1, -1)
		}
		if err == nil {
			err = nc.Flush()
		}
		if err != nil {
			r.Close()
			return nil, fmt.Errorf("tape: %w", err)
		}
	}
	return r, nil
}

// Close ends the listeners.
func (r *Recorder) Close() {
	for _, nc := range r.conns {
		nc.Close()
	}
}

// Tape is what was heard so far.
func (r *Recorder) Tape() (check.Tape, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.tape, r.bad
}

// hear takes a message, which comes up to once from each node.
func (r *Recorder) hear(m *nats.Msg) {
	seq, err := strconv.ParseUint(m.Header.Get("Nats-Sequence"), 10, 64)
	stream := m.Header.Get("Nats-Stream")
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case err != nil:
		r.bad = fmt.Errorf("tape: a message on %s without a sequence: %w", m.Subject, err)
	case stream == r.names.StreamWORK() && fresh(r.work, seq):
		r.tape.Work.Add(seq)
		err = r.takeWork(seq, m)
	case stream == r.names.StreamDONE() && fresh(r.done, seq):
		r.tape.Done.Add(seq)
		d := check.Done{Seq: seq, At: time.Since(r.start)}
		err = wire.Decode(m.Data, &d.Done)
		r.tape.Dones = append(r.tape.Dones, d)
	}
	if err != nil && r.bad == nil {
		r.bad = fmt.Errorf("tape: message %d on %s: %w", seq, m.Subject, err)
	}
}

func fresh(seen map[uint64]struct{}, seq uint64) bool {
	_, heard := seen[seq]
	seen[seq] = struct{}{}
	return !heard
}

func (r *Recorder) takeWork(seq uint64, m *nats.Msg) error {
	subject := strings.TrimPrefix(m.Subject, prefix)
	kind, _, _ := strings.Cut(subject, ".")
	switch kind {
	case "work":
		c := check.Claim{Seq: seq, At: time.Since(r.start)}
		if err := wire.Decode(m.Data, &c.Claim); err != nil {
			return err
		}
		c.Worker, _, _ = r.names.SplitWork(subject)
		r.tape.Claims = append(r.tape.Claims, c)
		r.claimed(c)
	case "verdict":
		v := check.Verdict{Seq: seq, At: time.Since(r.start)}
		if err := wire.Decode(m.Data, &v.Verdict); err != nil {
			return err
		}
		r.tape.Verdicts = append(r.tape.Verdicts, v)
	case "epoch":
		epoch, err := strconv.ParseUint(string(m.Data), 10, 64)
		if err != nil {
			return err
		}
		r.tape.Guards = append(r.tape.Guards, check.Guard{Seq: seq, Epoch: epoch})
	}
	return nil
}
