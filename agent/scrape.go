package agent

import (
	"context"
	"errors"
	"math"
	"time"

	"fairlead/agent/engine"
	"fairlead/wire"
)

// What an engine says of its load sharpens the broker's own bookings. A scrape that
// is too old says nothing at all: neither that the engine is idle nor that it is
// full, so that an outage of the scrapes alone stops nobody.
const (
	// staleAfter is how many intervals a scrape is believed for.
	staleAfter = 3
	// minScrape is the least time between two scrapes, scrapeExpiry the time that one
	// may take at least.
	minScrape    = 200 * time.Millisecond
	scrapeExpiry = time.Second
	// silentScrape is between two questions to an engine that never tells; another
	// one may answer in its place.
	silentScrape = 30 * time.Second
	// defaultBlock is the size of a KV block that nobody tells, in tokens.
	defaultBlock = 16
)

// scrape is the answer of an engine to a question for its load.
type scrape struct {
	load engine.Load
	err  error
}

// scrapes is what is known from them. It belongs to the loop.
type scrapes struct {
	every time.Duration
	last  engine.Load // the last that succeeded; its At is zero before
	err   error       // of the last one
}

func scrapeEvery(heartbeat time.Duration) time.Duration { return max(heartbeat, minScrape) }

// watchLoad asks the engine for its load until the context ends.
func (l *loop) watchLoad(ctx context.Context, eng engine.Loader) {
	every := scrapeEvery(l.cfg.Heartbeat)
	for {
		began := time.Now()
		try, cancel := context.WithTimeout(ctx, max(every, scrapeExpiry))
		load, err := eng.Load(try)
		cancel()
		select {
		case l.loads <- scrape{load, err}:
		case <-ctx.Done():
			return
		}
		wait := every - time.Since(began)
		if errors.Is(err, engine.ErrNoLoad) {
			wait = silentScrape
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return
		}
	}
}

// scraped takes in an answer. What changes is logged, not every failure.
func (l *loop) scraped(s scrape) {
	l.metrics.engine.scraped(s.load, s.err)
	was := l.scrapes.err
	l.scrapes.err = s.err
	if errors.Is(s.err, engine.ErrNoLoad) {
		return // it never will, and that is no fault
	}
	if s.err != nil {
		if was == nil {
			l.cfg.Log.Warn().Err(s.err).Msg("the engine does not tell its load; placing by what was handed out")
		}
		return
	}
	first := l.scrapes.last.At.IsZero()
	l.scrapes.last = s.load
	if was != nil || first {
		l.cfg.Log.Info().Str("engine", l.cfg.Engine.Kind()).Str("version", s.load.Version).Msg("the engine tells its load")
	}
	if slots := s.load.Slots; first && slots > 0 && slots < l.cfg.slots() {
		l.cfg.Log.Warn().Int("engine_slots", slots).Int("slots", l.cfg.slots()).
			Msg("the engine works on fewer requests at once than this agent takes: the rest waits inside it")
	}
}

// fresh is the last load, false when it is too old to be believed.
func (s *scrapes) fresh(now time.Time) (engine.Load, bool) {
	return s.last, !s.last.At.IsZero() && now.Sub(s.last.At) <= staleAfter*s.every
}

// describe fills in what the engine says of itself. What does not change with the
// load stays when that is stale.
func (s *scrapes) describe(hb *wire.Heartbeat, now time.Time) {
	hb.EngineVersion = s.last.Version
	hb.BlockTokens = uint32(min(s.last.BlockTokens, math.MaxUint32))
	hb.Blocks = uint64(s.last.Blocks)
	if load, ok := s.fresh(now); ok {
		hb.EngineRunning, hb.EngineWaiting, hb.EngineKV = load.Running, load.Waiting, load.KV
		hb.EngineAgeMS = new(uint32(max(now.Sub(load.At).Milliseconds(), 0)))
	}
}

// blockTokens is the size of a KV block: as configured, as the engine says, or as
// most have it.
func (l *loop) blockTokens() int {
	switch told := l.scrapes.last.BlockTokens; {
	case l.cfg.BlockTokens > 0:
		return l.cfg.BlockTokens
	case told > 0 && told < math.MaxInt32:
		return int(told)
	}
	return defaultBlock
}
