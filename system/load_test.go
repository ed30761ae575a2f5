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
	t        *testing.T
	want     int
	outcomes chan outcome
	clients  []*client.Client
	joined   sync.WaitGroup
	heard    int // outcomes that after has seen

	mu  sync.Mutex // guards what follows
	got map[uint64]outcome
}

// outcome is what the client was told in the end.
type outcome struct {
	id      uint64
	attempt uint32
	reason  wire.Reason // "" is a result
	chunks  int
}

const (
	burst  = 5 // requests that a frontend has open
	tokens = 8 // of an answer
)

// startLoad begins to ask requests on stored results, over two clients.
func (w *world) startLoad(frontends, rounds int) *load {
	w.t.Helper()
	l := &load{t: w.t, want: frontends * rounds * burst, got: map[uint64]outcome{}}
	l.outcomes = make(chan outcome, l.want)
	l.clients = []*client.Client{w.client(), w.client()}
	ctx, cancel := context.WithTimeout(context.Background(), 2*patience)
	w.t.Cleanup(func() { cancel(); l.joined.Wait() })
	for f := range frontends {
		l.joined.Go(func() {
			for r := range rounds {
				l.round(ctx, l.clients[f%len(l.clients)], fmt.Sprintf("%d-%d", f, r))
			}
		})
	}
	return l
}

// round asks a few requests of both classes, streamed and not, and reads them.
func (l *load) round(ctx context.Context, c *client.Client, key string) {
	var open []*client.Pending
	for i := range burst {
		q := client.Request{Class: "interactive", Body: fmt.Appendf(nil, `{"max_tokens":%d}`, tokens), Stored: true, InputTokens: 100}
		if i%2 == 1 {
			q.Class, q.Body = "batch", fmt.Appendf(nil, `{"stream":true,"max_tokens":%d}`, tokens)
		}
		q.IdempotencyKey = fmt.Sprintf("%s-%d", key, i)
		p, err := c.Submit(ctx, q)
		if err != nil {
			l.t.Errorf("submit %s: %v", q.IdempotencyKey, err)
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
	_, twice := l.got[o.id]
	l.got[o.id] = o
	l.mu.Unlock()
	if twice {
		l.t.Errorf("id %d was given to two requests", o.id)
	}
	l.outcomes <- o
}

// after waits until the frontends have been told n outcomes in all.
func (l *load) after(n int) {
	l.t.Helper()
	late := time.After(patience)
	for ; l.heard < n; l.heard++ {
		select {
		case <-l.outcomes:
		case <-late:
			l.t.Fatalf("after %v the frontends know %d outcomes of %d", patience, l.heard, n)
		}
	}
}

// inTheMiddle waits until n outcomes are known, every slot is taken and more
// waits: a crash then hits requests in every state.
func (l *load) inTheMiddle(n, slots int) {
	l.t.Helper()
	l.after(n)
	eventually(l.t, "all slots are taken and requests wait", func() bool {
		st, err := l.clients[0].Status(l.t.Context())
		must(l.t, err)
		running, queued := 0, 0
		for _, c := range st.Classes {
			running, queued = running+c.Running, queued+c.Queued
		}
		return running >= slots && queued >= slots
	})
}

// wait waits for every frontend, and checks that each request had an outcome.
func (l *load) wait() {
	l.t.Helper()
	l.joined.Wait()
	if len(l.got) != l.want {
		l.t.Errorf("%d outcomes of %d requests", len(l.got), l.want)
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
