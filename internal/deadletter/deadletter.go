// Package deadletter reads the requests that were given up, asks them again, and
// throws them away. They lie in the stream DEAD, whole: body and headers, with
// the reason beside them.
package deadletter

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"fairlead/internal/store"
	"fairlead/wire"
)

// Letter is a request that was given up.
type Letter struct {
	Seq      uint64      `json:"seq"` // in DEAD
	ID       uint64      `json:"id"`  // that it had as a request
	At       time.Time   `json:"at"`  // when it was given up
	Class    string      `json:"class"`
	Subject  string      `json:"subject"` // that it was asked on
	Reason   wire.Reason `json:"reason"`
	Detail   string      `json:"detail"`
	Attempts uint32      `json:"attempts"`
	Worker   string      `json:"worker,omitempty"` // the last one
	Tenant   string      `json:"tenant,omitempty"`
	Header   nats.Header `json:"header"` // of the request
	Body     []byte      `json:"-"`
}

// Filter picks letters; a zero field picks any.
type Filter struct {
	ID     uint64
	Class  string
	Reason wire.Reason
	Worker string
	Tenant string
	Before time.Time // given up before
}

func (f Filter) match(l *Letter) bool {
	return (f.ID == 0 || f.ID == l.ID) && (f.Class == "" || f.Class == l.Class) &&
		(f.Reason == "" || f.Reason == l.Reason) && (f.Worker == "" || f.Worker == l.Worker) &&
		(f.Tenant == "" || f.Tenant == l.Tenant) && (f.Before.IsZero() || l.At.Before(f.Before))
}

// Box is the stream DEAD.
type Box struct{ Store *store.Store }

// All visits the letters that a filter picks, oldest first.
func (b Box) All(ctx context.Context, f Filter) iter.Seq2[Letter, error] {
	return func(yield func(Letter, error) bool) {
		for next := uint64(1); ; {
			m, err := b.Store.LeaderNext(ctx, b.Store.Names.StreamDEAD(), next)
			if errors.Is(err, store.ErrNotFound) {
				return
			}
			if err != nil {
				yield(Letter{}, fmt.Errorf("read dead letters: %w", err))
				return
			}
			next = m.Seq + 1
			if l := b.letter(m); f.match(&l) && !yield(l, nil) {
				return
			}
		}
	}
}

func (b Box) letter(m store.Message) Letter {
	h := m.Header
	number := func(key string, bits int) uint64 {
		n, err := strconv.ParseUint(h.Get(key), 10, bits)
		if err != nil {
			return 0 // somebody else's message: shown with what can be read
		}
		return n
	}
	class, _ := strings.CutPrefix(m.Subject, b.Store.Names.Dead(""))
	l := Letter{
		Seq: m.Seq, ID: number(wire.HeaderDeadID, 64), At: m.Time, Class: class, Subject: h.Get(wire.HeaderDeadSubject),
		Reason: wire.Reason(h.Get(wire.HeaderDeadReason)), Detail: h.Get(wire.HeaderDeadDetail),
		Attempts: uint32(number(wire.HeaderDeadAttempts, 32)), Worker: h.Get(wire.HeaderDeadWorker), Tenant: h.Get(wire.HeaderTenant),
		Header: nats.Header{}, Body: m.Data,
	}
	for key, values := range h {
		if !strings.HasPrefix(key, "Fairlead-Dead-") && !strings.HasPrefix(key, "Nats-") {
			l.Header[key] = values
		}
	}
	return l
}

// Redrive asks for a letter's request again and then removes the letter. The new
// request has an id of its own and names the old one; its result is kept on
// res.<id>, because the inbox that once waited for it is long gone. Asking twice
// within half a minute is one request.
func (b Box) Redrive(ctx context.Context, l Letter) (id uint64, err error) {
	if _, _, ok := b.Store.Names.SplitReq(l.Subject); !ok {
		return 0, fmt.Errorf("re-drive dead letter %d: header %s is %q; want the subject of a request", l.Seq, wire.HeaderDeadSubject, l.Subject)
	}
	m := nats.NewMsg(l.Subject)
	m.Data = l.Body
	for key, values := range l.Header {
		if key != wire.HeaderReplyTo {
			m.Header[key] = values
		}
	}
	m.Header.Set(wire.HeaderRedriveOf, strconv.FormatUint(l.ID, 10))
	m.Header.Set(wire.HeaderMsgID, "redrive."+strconv.FormatUint(l.Seq, 10))
	ack, err := b.Store.JS.PublishMsg(ctx, m)
	if err != nil {
		return 0, fmt.Errorf("re-drive dead letter %d: %w", l.Seq, err)
	}
	return ack.Sequence, b.Remove(ctx, l)
}

// Remove deletes a letter.
func (b Box) Remove(ctx context.Context, l Letter) error {
	if err := b.Store.Delete(ctx, b.Store.Names.StreamDEAD(), l.Seq); err != nil {
		return fmt.Errorf("remove dead letter %d: %w", l.Seq, err)
	}
	return nil
}
