package broker

import (
	"context"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"

	"fairlead/internal/store"
	"fairlead/wire"
)

// scrape collects what the leader's state says, in the moment that it is asked
// for. A broker that does not lead has nothing to say there, so that the sum over
// all brokers is right and nothing is left behind by a lost lead.
type scrape struct {
	b    *Broker
	fams *families

	mu    sync.Mutex // one look at a time
	last  *view
	valid time.Time // last may be shown until then
}

// view is a leader's state at one time.
type view struct {
	term     *term
	status   wire.BrokerStatus
	guards   int           // at work
	recovery time.Duration // that the term began with
	took     time.Duration // that the loop was held up for it
	kept     map[string]int
	streams  map[string]store.Range
}

const (
	// lookPause is how long a view is shown at least.
	lookPause = time.Second
	// lookShare bounds the loop's time for views: looking visits every queued
	// request, so a view that took long is shown for so many times as long.
	lookShare = 50
	// lookWithin bounds a look: a busy loop costs a scrape its gauges, and not the
	// scraper its patience.
	lookWithin = 2 * time.Second
)

func newScrape(b *Broker) *scrape { return &scrape{b: b, fams: newFamilies()} }

// Describe is prometheus.Collector's.
func (s *scrape) Describe(out chan<- *prometheus.Desc) { s.fams.describe(out) }

// Collect is prometheus.Collector's.
func (s *scrape) Collect(out chan<- prometheus.Metric) {
	e := emitter{out: out, fams: s.fams, models: &s.b.metrics.models}
	e.policy(s.b.policies.status())
	if v := s.view(); v != nil {
		e.view(v)
	}
}

// view is what the leader looks like, nil when this broker does not lead.
func (s *scrape) view() *view {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.b.term.Load()
	if _, leads := s.b.Leading(); t == nil || !leads {
		s.last = nil
		return nil
	}
	if s.last != nil && s.last.term == t && time.Now().Before(s.valid) {
		return s.last
	}
	s.last = t.look(lookWithin)
	if s.last != nil {
		s.valid = time.Now().Add(max(lookPause, lookShare*s.last.took))
	}
	return s.last
}

// look takes a view in the loop, and asks the store for the rest. It is nil when
// the loop does not come to it in time.
func (t *term) look(within time.Duration) *view {
	ctx, cancel := context.WithTimeout(t.ctx, within)
	defer cancel()
	seen := make(chan *view, 1)
	select {
	case t.asks <- func() { seen <- t.view() }:
	case <-ctx.Done():
		return nil
	}
	select {
	case v := <-seen:
		v.kept = t.clean.kept()
		v.streams = t.ranges(ctx)
		return v
	case <-ctx.Done():
		return nil
	}
}

func (t *term) view() *view {
	began := time.Now()
	return &view{term: t, status: t.arb.Status(began), guards: t.open, recovery: t.recovery, took: time.Since(began)}
}

// ranges says what each stream holds, as far as the store answers in time.
func (t *term) ranges(ctx context.Context) map[string]store.Range {
	configs := t.b.store.Configs(t.b.cfg.Streams)
	found := make([]*store.Range, len(configs))
	var g errgroup.Group
	for i := range configs {
		g.Go(func() error {
			r, err := t.b.store.Range(ctx, configs[i].Name)
			if err == nil {
				found[i] = &r
			}
			return err
		})
	}
	if err := g.Wait(); err != nil {
		t.b.log.Debug().Err(err).Msg("a scrape goes without what the store did not tell")
	}
	ranges := map[string]store.Range{}
	for i, r := range found {
		if r != nil {
			ranges[configs[i].Name] = *r
		}
	}
	return ranges
}

// kept counts what is over and still stored, by stream.
func (c *cleaner) kept() map[string]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	reports := 0
	for i := range c.reports {
		if c.reports[i].spent(&c.reqs) {
			reports++
		}
	}
	names := c.b.cfg.Names
	return map[string]int{names.StreamREQ(): c.reqs.kept(), names.StreamDONE(): reports}
}
