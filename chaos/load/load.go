// Package load is the frontends of a chaos run: they ask at a steady rate, all
// kinds of requests, and write down what they were promised and what they got.
package load

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"fairlead/chaos/check"
	"fairlead/client"
)

// Options say how much is asked.
type Options struct {
	Seed    uint64
	Rate    float64 // requests a second, of all frontends together
	Workers int     // that requests may be pinned to
	Start   time.Time
}

// Load is running frontends. Its methods are safe for concurrent use.
type Load struct {
	o       Options
	clients []*client.Client
	ctx     context.Context // ends when outcomes are waited for no longer
	giveUp  context.CancelFunc
	wg      sync.WaitGroup

	mu       sync.Mutex // guards what follows
	receipts map[uint64]*check.Receipt
	keys     map[string]uint64           // ids of idempotency keys that two frontends use
	poison   map[uint64]chan check.Claim // by id, until its outcome
	early    map[uint64][]check.Claim    // claims heard while a poisoned request waits for its receipt
	waiting  int                         // poisoned requests that do
	counts   Counts
}

// Counts is what happened beside outcomes.
type Counts struct {
	Asked       int
	Refused     map[string]int // not acknowledged, by why
	AskedAgain  int            // publishes that a second frontend repeated
	TwoIDs      int            // of them, those that got an id of their own
	Cancels     map[string]int // answers to cancels
	Interrupted int            // reads that the store did not answer, and that went on
}

// New prepares a load over clients, of which there must be at least two.
func New(o Options, clients []*client.Client) *Load {
	l := &Load{
		o: o, clients: clients, receipts: map[uint64]*check.Receipt{}, keys: map[string]uint64{}, poison: map[uint64]chan check.Claim{}, early: map[uint64][]check.Claim{},
		counts: Counts{Refused: map[string]int{}, Cancels: map[string]int{}},
	}
	l.ctx, l.giveUp = context.WithCancel(context.Background())
	return l
}

// Run asks until ctx ends. It does not wait for outcomes.
func (l *Load) Run(ctx context.Context) {
	tick := time.NewTicker(time.Duration(float64(time.Second) / l.o.Rate))
	defer tick.Stop()
	for n := 0; ; n++ {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			l.wg.Go(func() { l.frontend(n, mix(l.o.Seed, n, l.o.Workers)) })
		}
	}
}

// Wait waits until every request has an outcome, as long as ctx lasts; then the
// rest is given up.
func (l *Load) Wait(ctx context.Context) {
	done := make(chan struct{})
	go func() {
		l.wg.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-ctx.Done():
		l.giveUp()
		<-done
	}
	l.giveUp()
}

// Receipts is what was promised, by id, and what came of it.
func (l *Load) Receipts() []check.Receipt {
	l.mu.Lock()
	defer l.mu.Unlock()
	list := make([]check.Receipt, 0, len(l.receipts))
	for _, id := range slices.Sorted(maps.Keys(l.receipts)) {
		list = append(list, *l.receipts[id])
	}
	return list
}

// Counts is what happened beside outcomes.
func (l *Load) Counts() Counts {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.counts
}

// frontend asks one request and follows it to its end.
func (l *Load) frontend(n int, a ask) {
	first, second := l.clients[n%len(l.clients)], l.clients[(n+1)%len(l.clients)]
	if a.twice {
		l.wg.Go(func() { l.repeat(second, a) })
	}
	p, ok := l.submit(first, a)
	if !ok {
		return
	}
	l.follow(p, a, second)
}

// submit asks, and writes the receipt down.
func (l *Load) submit(c *client.Client, a ask) (*client.Pending, bool) {
	l.count(func(n *Counts) { n.Asked++ })
	p, err := c.Submit(l.ctx, a.Request)
	if err != nil {
		l.count(func(n *Counts) { n.Refused[why(err)]++ })
		return nil, false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if id := l.keys[a.IdempotencyKey]; a.twice && id != 0 && id != p.ID {
		l.counts.TwoIDs++
	}
	if a.twice {
		l.keys[a.IdempotencyKey] = p.ID
	}
	if l.receipts[p.ID] == nil { // else the other frontend was first
		l.receipts[p.ID] = &check.Receipt{
			ID: p.ID, Stored: a.Stored, Always: a.Retry == retryAlways && !a.byID, Poison: a.poison, Tokens: a.tokens,
			TTL: a.TTL > 0, Cancelled: a.cancel > 0,
		}
	}
	return p, true
}

// repeat asks what another frontend asks too. Who was second is one request
// with the first, unless the store has forgotten the key.
func (l *Load) repeat(c *client.Client, a ask) {
	p, ok := l.submit(c, a)
	if !ok {
		return
	}
	l.count(func(n *Counts) { n.AskedAgain++ })
	l.follow(p, a, c)
}

// follow waits for the outcome, and cancels on the way when that was drawn.
func (l *Load) follow(p *client.Pending, a ask, other *client.Client) {
	defer p.Close()
	if a.cancel > 0 {
		l.wg.Go(func() { l.cancel(p, a.cancel) })
	}
	if a.byID {
		q, err := other.Await(l.ctx, p.ID)
		if err == nil {
			defer q.Close()
			p = q
		} else if l.ctx.Err() != nil {
			return
		}
	}
	if o := l.read(p, a); o != nil {
		l.outcome(p.ID, o)
	}
}

// outcome writes down what the first reader of a request was told.
func (l *Load) outcome(id uint64, o *check.Outcome) {
	o.At = time.Since(l.o.Start)
	l.mu.Lock()
	defer l.mu.Unlock()
	if r := l.receipts[id]; r.Outcome == nil {
		r.Outcome = o
	}
}

func (l *Load) cancel(p *client.Pending, after time.Duration) {
	if !l.pause(after) {
		return
	}
	answer, err := p.Cancel(l.ctx)
	word := string(answer)
	if err != nil {
		word = "no leader answered"
	}
	l.count(func(n *Counts) { n.Cancels[word]++ })
}

func (l *Load) count(f func(*Counts)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f(&l.counts)
}

// why is a short word for a publish that was not acknowledged.
func why(err error) string {
	var e *client.Error
	switch {
	case errors.As(err, &e):
		return string(e.Reason)
	case errors.Is(err, jetstream.ErrNoStreamResponse), errors.Is(err, nats.ErrNoResponders):
		return "no leader of REQ"
	case errors.Is(err, context.DeadlineExceeded):
		return "no answer of REQ"
	}
	return err.Error()
}
