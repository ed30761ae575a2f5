package agent

import (
	"time"

	"fairlead/wire"
)

// report takes in what a job tells: bookings, events, heartbeat and metrics
// follow from it, here and nowhere else.
func (l *loop) report(r report) {
	e := r.entry
	switch r.kind {
	case started:
		l.event(wire.EventStarted, e)
	case prefilled:
		l.prefilled(r)
	case first:
		e.first = true
		l.pace.add(e.uncached(), r.took)
		l.event(wire.EventFirstToken, e)
		l.beat.changed()
	case released:
		l.ledger.settle(e)
		l.released(r)
	case ended:
		l.ledger.remove(e)
		if r.ok {
			l.ledger.remember(e)
		} else {
			l.lost++
		}
		l.beat.changed()
		l.metrics.settled(r.done)
		l.cfg.Log.Debug().Uint64("id", r.done.ID).Uint32("attempt", r.done.Attempt).Str("status", string(r.done.Status)).
			Str("reason", string(r.done.Reason)).Str("error", r.done.Error).Int64("ms", r.done.TotalMS).Msg("ended")
	}
}

// released holds the worker when its engine is busy, and looks after an engine
// that could not be reached.
func (l *loop) released(r report) {
	if r.hold > 0 {
		if until := time.Now().Add(r.hold); until.After(l.hold) {
			l.hold = until
		}
		l.beat.changed()
	}
	if r.sick {
		select {
		case l.sick <- struct{}{}:
		default: // it is asked for already
		}
	}
}
