package load

import (
	"context"

	"fairlead/chaos/check"
	"fairlead/client"
)

// Claimed tells the load of a claim that was stored; it does not block.
func (l *Load) Claimed(c check.Claim) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if claims := l.poison[c.ID]; claims != nil {
		claims <- c
	} else if l.waiting > 0 {
		l.early[c.ID] = append(l.early[c.ID], c)
	}
}

// Poison asks request n that kills its workers, and calls strike for every claim
// of it, until it has an outcome or ctx ends.
func (l *Load) Poison(ctx context.Context, n int, strike func(worker string)) {
	a := poisoned(n)
	l.mu.Lock()
	l.waiting++
	l.mu.Unlock()
	p, ok := l.submit(l.clients[0], a)
	claims := l.watch(p)
	if !ok {
		return
	}
	done := make(chan struct{})
	l.wg.Go(func() {
		defer close(done)
		l.follow(p, a, l.clients[1])
	})
	for {
		select {
		case c := <-claims:
			strike(c.Worker)
		case <-done:
			return
		case <-ctx.Done():
			return
		}
	}
}

// watch begins to hear of a request's claims, those included that were stored
// before its receipt came.
func (l *Load) watch(p *client.Pending) <-chan check.Claim {
	const most = 1024 // attempts of one request, far beyond any limit
	claims := make(chan check.Claim, most)
	l.mu.Lock()
	defer l.mu.Unlock()
	if p != nil {
		for _, c := range l.early[p.ID] {
			claims <- c
		}
		l.poison[p.ID] = claims
	}
	if l.waiting--; l.waiting == 0 {
		clear(l.early)
	}
	return claims
}
