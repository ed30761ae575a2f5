package store_test

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"testing"

	"github.com/nats-io/nats.go"

	"fairlead/internal/store"
	"fairlead/wire"
)

// sequences reads a batch to the error that ends it.
func sequences(batch iter.Seq2[store.Message, error]) (seqs []uint64, err error) {
	for m, merr := range batch {
		if merr != nil {
			return seqs, merr
		}
		seqs = append(seqs, m.Seq)
	}
	return seqs, nil
}

// TestBatch, of a real stream, with messages of others between and some removed. Headers
// of a message in which somebody answers in the server's name change nothing.
func TestBatch(t *testing.T) {
	nc := connected(t)
	st, err := store.Open(nc, wire.Names{})
	must(t, err)
	must(t, st.Ensure(t.Context(), store.Options{}))
	var all, ours []uint64
	for i := range 10 {
		m := nats.NewMsg(fmt.Sprintf("res.%d", 1+i%2))
		m.Header.Set("Status", []string{"404", "503", "204"}[i%3])
		for _, key := range []string{"Nats-Sequence", "Nats-Last-Sequence", "Nats-Subject", "Nats-Time-Stamp"} {
			m.Header.Set(key, "999999999999999999")
		}
		ack, err := st.JS.PublishMsg(t.Context(), m)
		must(t, err)
		if i == 4 || i == 5 {
			must(t, st.Delete(t.Context(), "RES", ack.Sequence))
			continue
		}
		if all = append(all, ack.Sequence); i%2 == 0 {
			ours = append(ours, ack.Sequence)
		}
	}
	for _, tc := range []struct {
		subject string
		from    uint64
		n       int
		want    []uint64
	}{
		{"", 0, 100, all},
		{"", all[2], 100, all[2:]},
		{"", 1, 3, all[:3]},
		{"res.1", 1, 100, ours},
		{"res.1", ours[0] + 1, 2, ours[1:3]},
	} {
		if got, err := sequences(st.Batch(t.Context(), "RES", tc.subject, tc.from, tc.n)); err != nil || !slices.Equal(got, tc.want) {
			t.Errorf("%q from %d, %d: %v, %v; want %v", tc.subject, tc.from, tc.n, got, err, tc.want)
		}
	}
	if _, err := sequences(st.Batch(t.Context(), "RES", "", all[7]+1, 10)); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("beyond the end: %v", err)
	}
	if _, err := sequences(st.Batch(t.Context(), "NONE", "", 1, 10)); !errors.Is(err, nats.ErrNoResponders) {
		t.Errorf("of no stream: %v", err)
	}
	m, err := st.Get(t.Context(), "RES", all[0])
	if err != nil || m.Seq != all[0] || m.Subject != "res.1" {
		t.Errorf("got %d on %s, %v", m.Seq, m.Subject, err)
	}
}

// TestBatchWithLoss: what is lost between the server and the reader is missed, wherever
// in the batch it was.
func TestBatchWithLoss(t *testing.T) {
	nc := connected(t)
	for name, tc := range map[string]struct {
		lost, read int
	}{
		"nothing": {0, 3}, "the first": {1, 0}, "one between": {2, 1}, "the last": {3, 2},
	} {
		t.Run(name, func(t *testing.T) {
			sub, err := nc.Subscribe("lossy.DIRECT.GET.RES", func(q *nats.Msg) {
				for i := 1; i <= 4; i++ {
					m := nats.NewMsg(q.Reply)
					m.Header.Set("Nats-Last-Sequence", fmt.Sprint(i-1))
					if i < 4 {
						m.Header.Set("Nats-Sequence", fmt.Sprint(i))
						m.Header.Set("Nats-Time-Stamp", "2026-01-01T00:00:00Z")
					} else {
						m.Header.Set("Status", "204")
					}
					if i != tc.lost {
						must(t, nc.PublishMsg(m))
					}
				}
			})
			must(t, err)
			defer func() { must(t, sub.Unsubscribe()) }()
			st, err := store.OpenAs(nc, wire.Names{}, "lossy")
			must(t, err)
			got, err := sequences(st.Batch(t.Context(), "RES", "", 1, 10))
			if len(got) != tc.read || (err != nil) != (tc.lost > 0) {
				t.Errorf("read %v, %v", got, err)
			}
		})
	}
}
