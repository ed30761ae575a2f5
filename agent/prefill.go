package agent

import (
	"time"

	"fairlead/wire"
)

// Of an answer that does not stream, nothing is sent when its prefill ends. The
// engine may tell, else the end is estimated by the engine's speed: without it
// the request would count as active prefill for its whole run.

// pace is uncached prompt tokens over the time to their first token, of which the
// older count for less.
type pace struct{ tokens, seconds float64 }

// paceMemory is how many requests a pace looks back on, about.
const paceMemory = 32

func (p *pace) add(tokens uint32, took time.Duration) {
	const keep = 1 - 1.0/paceMemory
	p.tokens = p.tokens*keep + float64(tokens)
	p.seconds = p.seconds*keep + took.Seconds()
}

// speed is in uncached prompt tokens per second; 0 unknown.
func (p *pace) speed() float64 {
	if p.seconds <= 0 {
		return 0
	}
	return p.tokens / p.seconds
}

// speed is in uncached prompt tokens per second, as declared, else as learned
// from this agent's streams; 0 unknown.
func (l *loop) speed() float64 {
	if l.cfg.Speed > 0 {
		return l.cfg.Speed
	}
	return l.pace.speed()
}

// estimate is how long the engine should need for the prefill of an entry; 0 when
// there is nothing to say: the speed is unknown, or the engine tells by itself.
func (l *loop) estimate(e *entry) time.Duration {
	speed := l.speed()
	if l.tells || speed <= 0 {
		return 0
	}
	took := float64(max(e.uncached(), 1)) / speed
	if took >= l.cfg.AttemptTimeout.Seconds() {
		return 0 // it will have ended by then
	}
	return max(time.Duration(took*float64(time.Second)), 1)
}

// prefilled notes the end of a prefill.
func (l *loop) prefilled(r report) {
	l.tells = l.tells || r.told
	if e := r.entry; !e.prefilled {
		e.prefilled = true
		l.event(wire.EventPrefilled, e)
		l.beat.changed()
	}
}
