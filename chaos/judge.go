package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"fairlead/chaos/check"
	"fairlead/chaos/load"
	"fairlead/chaos/rig"
	"fairlead/internal/deadletter"
	"fairlead/wire"
)

// judge gathers what is left and has the history checked.
func (r *run) judge(ctx context.Context, d *director) (*check.Report, error) {
	left := check.Left{Streams: map[string]uint64{}, Bookings: map[string]int64{}}
	r.out.line("     %s the streams are to be empty", r.since())
	if err := r.settle(ctx, &left); err != nil {
		left.Odd = append(left.Odd, err.Error())
	}
	r.out.line("     %s goroutines and files are to be what they were", r.since())
	left.Odd = append(left.Odd, r.before.compare(ctx, r.rig)...)
	r.out.line("     %s the results are read", r.since())
	h := &check.History{Receipts: r.load.Receipts()}
	var err error
	if h.Results, err = r.results(ctx); err != nil {
		return nil, fmt.Errorf("read RES: %w", err)
	}
	for l, err := range (deadletter.Box{Store: r.store}).All(ctx, deadletter.Filter{}) {
		if err != nil {
			return nil, fmt.Errorf("read DEAD: %w", err)
		}
		h.Dead = append(h.Dead, l.ID)
	}
	if h.Tape, err = r.tape.Tape(); err != nil {
		return nil, err
	}
	r.out.line("     %s all daemons are to stop", r.since())
	for _, err := range r.rig.Stop() {
		if err != nil {
			left.Odd = append(left.Odd, err.Error())
		}
	}
	left.Odd = append(left.Odd, d.wrong...)
	h.Left = left
	return check.Judge(h), r.save(h)
}

// save keeps the history beside the logs, for whoever looks into a failure.
func (r *run) save(h *check.History) error {
	data, err := json.Marshal(h)
	if err != nil {
		return fmt.Errorf("encode the history: %w", err)
	}
	return os.WriteFile(filepath.Join(r.o.dir, "history.json"), data, 0o600)
}

// settle waits until streams and bookings are empty, and notes what they are in
// the end.
func (r *run) settle(ctx context.Context, left *check.Left) error {
	ctx, cancel := context.WithTimeout(ctx, emptyPatience)
	defer cancel()
	var last error
	err := rig.Until(ctx, 250*time.Millisecond, func() bool {
		last = errors.Join(r.countStreams(ctx, left), r.countBookings(ctx, left))
		return last == nil && empty(left)
	})
	if last == nil && err != nil && !empty(left) {
		return nil // told by what is left
	}
	return errors.Join(last, err)
}

func empty(left *check.Left) bool {
	for _, n := range left.Streams {
		if n != 0 {
			return false
		}
	}
	for _, n := range left.Bookings {
		if n != 0 {
			return false
		}
	}
	return true
}

// countStreams counts what should go away by itself.
func (r *run) countStreams(ctx context.Context, left *check.Left) error {
	names := r.store.Names
	for _, q := range []struct{ stream, filter string }{
		{names.StreamREQ(), ">"}, {names.StreamDONE(), ">"}, {names.StreamWORK(), "work.>"}, {names.StreamWORK(), "verdict.>"},
	} {
		s, err := r.store.JS.Stream(ctx, q.stream)
		if err != nil {
			return err
		}
		info, err := s.Info(ctx, jetstream.WithSubjectFilter(q.filter))
		if err != nil {
			return err
		}
		n := uint64(0)
		for _, m := range info.State.Subjects {
			n += m
		}
		left.Streams[q.stream+" "+q.filter] = n
	}
	return nil
}

// whole is an error while a replica of a stream is away or behind.
func (r *run) whole(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	n := r.store.Names
	for _, name := range []string{n.StreamREQ(), n.StreamWORK(), n.StreamDONE(), n.StreamRES(), n.StreamDEAD()} {
		s, err := r.store.JS.Stream(ctx, name)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		c := s.CachedInfo().Cluster
		if c == nil || c.Leader == "" || len(c.Replicas) != nodes-1 {
			return fmt.Errorf("%s: no leader with all replicas", name)
		}
		for _, p := range c.Replicas {
			if p.Offline || !p.Current {
				return fmt.Errorf("%s: the replica on %s is behind", name, p.Name)
			}
		}
	}
	return nil
}

func (r *run) countBookings(ctx context.Context, left *check.Left) error {
	s, err := r.clients[0].Status(ctx)
	if err != nil {
		return err
	}
	n := left.Bookings
	clear(n)
	for _, c := range s.Classes {
		n["queued requests"] += int64(c.Queued)
		n["queued tokens"] += c.QueuedTokens
		n["running requests"] += int64(c.Running)
	}
	for _, w := range s.Workers {
		n["slots used of "+w.Worker] += int64(w.Used)
		n["prefill tokens of "+w.Worker] += w.PrefillTokens
	}
	return nil
}

// results reads all of RES.
func (r *run) results(ctx context.Context) ([]check.Message, error) {
	ctx, cancel := context.WithTimeout(ctx, emptyPatience)
	defer cancel()
	name := r.store.Names.StreamRES()
	all, err := r.store.Range(ctx, name)
	if err != nil || all.Messages == 0 {
		return nil, err
	}
	cons, err := r.store.JS.OrderedConsumer(ctx, name, jetstream.OrderedConsumerConfig{})
	if err != nil {
		return nil, err
	}
	iter, err := cons.Messages()
	if err != nil {
		return nil, err
	}
	defer iter.Stop()
	list := make([]check.Message, 0, all.Messages)
	for seq := uint64(0); seq < all.Last; {
		m, err := iter.Next(jetstream.NextContext(ctx))
		if err != nil {
			return nil, err
		}
		meta, err := m.Metadata()
		if err != nil {
			return nil, err
		}
		seq = meta.Sequence.Stream
		parsed, err := wire.ParseResult(m.Headers())
		if err != nil {
			return nil, fmt.Errorf("message %d: %w", seq, err)
		}
		engine, _ := load.Engine(m.Data())
		list = append(list, check.Message{Seq: seq, ResultMessage: parsed, Engine: engine})
	}
	return list, nil
}
