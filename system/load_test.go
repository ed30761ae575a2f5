package system_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"fairlead/client"
	"fairlead/wire"
)

// load is many frontends that ask, wait for what they asked, and ask again, so
// that at any instant something is being published, queued, worked and read.
type load struct {
	t       *testing.T
	stored  bool // results are kept; else they go to inboxes
	clients []*client.Client
	joined  sync.WaitGroup
	enough  chan struct{} // closed when no more is to be asked

	mu   sync.Mutex // guards what follows
	got  map[uint64]outcome
	more chan struct{} // closed and replaced at every outcome
}

// outcome is what the client was told in the end.
type outcome struct {
	id      uint64
	attempt uint32
	reason  wire.Reason // "" is a result
	chunks  int
}

// Of a load: enough to keep two agents busy, and to need a queue.
const (
	frontends = 24
	burst     = 5 // requests that a frontend has open
	tokens    = 8 // of an answer
)

// startLoad begins to ask requests on stored results.
func (w *world) startLoad() *load {
	w.t.Helper()
	return w.runLoad(&load{t: w.t, stored: true})
}

// startInboxLoad is the same with inboxes.
func (w *world) startInboxLoad() *load {
	w.t.Helper()
	return w.runLoad(&load{t: w.t})
}

// runLoad asks over two clients until wait is called.
func (w *world) runLoad(l *load) *load {
	w.t.Helper()
	l.got, l.more, l.enough = map[uint64]outcome{}, make(chan struct{}), make(chan struct{})
	l.clients = []*client.Client{w.client(), w.client()}
	ctx, cancel := context.WithCancel(context.Background())
	w.t.Cleanup(func() { cancel(); l.joined.Wait() })
	for f := range frontends {
		l.joined.Go(func() { l.frontend(ctx, f) })
	}
	return l
}

func (l *load) frontend(ctx context.Context, f int) {
	for r := 0; ctx.Err() == nil; r++ {
		select {
		case <-l.enough:
			return
		default:
			l.round(ctx, l.clients[f%len(l.clients)], fmt.Sprintf("%d-%d", f, r))
		}
	}
}

// round asks a few requests of both classes, streamed and not, and reads them.
func (l *load) round(ctx context.Context, c *client.Client, key string) {
	var open []*client.Pending
	for i := range burst {
		q := client.Request{Class: "interactive", Body: fmt.Appendf(nil, `{"max_tokens":%d}`, tokens), Stored: l.stored, InputTokens: 100}
		if i%2 == 1 {
			q.Class, q.Body = "batch", fmt.Appendf(nil, `{"stream":true,"max_tokens":%d}`, tokens)
		}
		if l.stored {
			q.IdempotencyKey = fmt.Sprintf("%s-%d", key, i)
		}
		p, err := c.Submit(ctx, q)
		if err != nil {
			l.t.Errorf("submit %s, %d: %v", key, i, err)
			continue
		}
		open = append(open, p)
	}
	for _, p := range open {
		l.read(ctx, p)
	}
}

func (l *load) read(ctx context.Context, p *client.Pending) {
	o := outcome{id: p.ID}
	r, err := p.Result(ctx)
	var failed *client.Error
	switch {
	case errors.As(err, &failed):
		o.reason, o.attempt = failed.Reason, failed.Attempt
	case err != nil:
		l.t.Errorf("acknowledged and without an outcome: %v", err)
		return
	default:
		o.chunks, o.attempt = len(r.Chunks), r.Attempt
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, twice := l.got[o.id]; twice {
		l.t.Errorf("id %d was given to two requests", o.id)
	}
	l.got[o.id] = o
	close(l.more)
	l.more = make(chan struct{})
}

func (l *load) count() (n int, more <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.got), l.more
}

// after waits until the frontends have been told n outcomes in all.
func (l *load) after(n int) {
	l.t.Helper()
	late := time.After(patience)
	for {
		have, more := l.count()
		if have >= n {
			return
		}
		select {
		case <-more:
		case <-late:
			l.t.Fatalf("after %v the frontends know %d outcomes of %d", patience, have, n)
		}
	}
}

// inTheMiddle waits until n more outcomes are known, at least half of the slots
// are taken and something waits: a crash then hits requests in every state.
func (l *load) inTheMiddle(n, slots int) {
	l.t.Helper()
	have, _ := l.count()
	l.after(have + n)
	eventually(l.t, "slots are taken and requests wait", func() bool {
		st, err := l.clients[0].Status(l.t.Context())
		if err != nil {
			return false // nobody leads just now
		}
		running, queued := 0, 0
		for _, c := range st.Classes {
			running, queued = running+c.Running, queued+c.Queued
		}
		return running >= slots/2 && queued > 0
	})
}

// wait asks no more and waits until every frontend has read what it asked.
func (l *load) wait() {
	l.t.Helper()
	close(l.enough)
	joined := make(chan struct{})
	go func() { l.joined.Wait(); close(joined) }()
	select {
	case <-joined:
	case <-time.After(patience):
		n, _ := l.count()
		l.t.Fatalf("%v after the last was asked, there are requests without an outcome; %d have one", patience, n)
	}
}

// reasons counts how the requests ended, as the clients were told.
func (l *load) reasons() map[wire.Reason]int {
	counts := map[wire.Reason]int{}
	for _, o := range l.got {
		counts[o.reason]++
	}
	return counts
}

// summary is the counts as words.
func (l *load) summary() string {
	var parts []string
	for r, n := range l.reasons() {
		parts = append(parts, fmt.Sprintf("%d %q", n, r))
	}
	again := 0
	for _, o := range l.got {
		if o.attempt > 1 {
			again++
		}
	}
	return fmt.Sprintf("%s; %d not at the first attempt", strings.Join(parts, ", "), again)
}
