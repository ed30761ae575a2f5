package agent

import (
	"time"

	"fairlead/wire"
)

// minBeat is the least time between two heartbeats.
const minBeat = 50 * time.Millisecond

// beat decides when heartbeats go out: every interval, and soon after a change.
// It belongs to the loop.
type beat struct {
	interval time.Duration
	seq      uint64
	last     time.Time
	audited  time.Time // last audit
	dirty    bool
	timer    *time.Timer
}

func newBeat(interval time.Duration) *beat {
	return &beat{interval: interval, timer: time.NewTimer(0)}
}

// due is ready when the next heartbeat is to be sent.
func (b *beat) due() <-chan time.Time { return b.timer.C }

// changed brings the next heartbeat forward.
func (b *beat) changed() {
	if b.dirty {
		return
	}
	b.dirty = true
	b.timer.Reset(max(minBeat-time.Since(b.last), 0))
}

// sent starts the next interval and returns the number of the heartbeat.
func (b *beat) sent(now time.Time) uint64 {
	b.seq++
	b.last, b.dirty = now, false
	b.timer.Reset(b.interval)
	return b.seq
}

// pulse sends a heartbeat, and looks after what only time shows.
func (l *loop) pulse() {
	now := time.Now()
	hb := l.heartbeat(now)
	hb.Seq = l.beat.sent(now)
	if err := l.st.NC.Publish(l.st.Names.Load(l.cfg.Worker), wire.Encode(hb)); err != nil {
		l.cfg.Log.Debug().Err(err).Msg("cannot send a heartbeat")
	}
	if l.pulls.overdue(now) {
		l.cfg.Log.Warn().Msg("pulls stay unanswered; making the consumer anew")
		l.renew()
	} else if l.beat.auditDue(now) {
		l.audit()
	}
}

// heartbeat is the agent's whole state: its own bookings, and what the engine says
// of itself as long as that is fresh.
func (l *loop) heartbeat(now time.Time) *wire.Heartbeat {
	hb := &wire.Heartbeat{
		Worker: l.cfg.Worker, Incarnation: l.incarnation,
		IntervalMS: uint32(l.beat.interval.Milliseconds()),
		Draining:   l.draining || l.superseded, Healthy: l.health.err == nil,
		HoldMS: uint32(max(l.hold.Sub(now).Milliseconds(), 0)),
		Engine: l.cfg.Engine.Kind(), Models: l.health.models, Taints: l.cfg.Taints,
		Ranks: uint32(l.cfg.Ranks), Slots: uint32(l.cfg.Slots), MaxBatched: l.cfg.MaxBatched, Speed: l.cfg.Speed,
		Learned: l.pace.speed(), Active: uint32(l.ledger.running),
	}
	l.scrapes.describe(hb, now)
	block := l.blockTokens()
	for _, e := range l.ledger.entries {
		hb.InFlight = append(hb.InFlight, wire.InFlight{
			ID: e.claim.ID, Claim: e.seq, Attempt: e.claim.Attempt, Rank: e.claim.Rank,
			First: e.first, Prefilled: e.prefilled, Uncached: e.uncached(),
		})
		switch {
		case e.phase == settling:
		case e.first || e.prefilled:
			tokens := int(e.claim.Input) + int(e.job.sent.Load())
			hb.DecodeBlocks += uint64((tokens + block - 1) / block)
		default:
			hb.PrefillTokens += uint64(e.uncached())
		}
	}
	l.metrics.beat(hb, len(l.ledger.entries))
	return hb
}

// event tells the broker at once what the next heartbeat will say as well.
func (l *loop) event(kind wire.EventKind, e *entry) {
	ev := wire.Event{Kind: kind, Worker: l.cfg.Worker, Incarnation: l.incarnation, ID: e.claim.ID, Attempt: e.claim.Attempt, Claim: e.seq}
	if err := l.st.NC.Publish(l.st.Names.Ev(l.cfg.Worker), wire.Encode(&ev)); err != nil {
		l.cfg.Log.Debug().Err(err).Msg("cannot send an event")
	}
}
