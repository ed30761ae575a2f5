package agent

import (
	"errors"
	"time"

	"github.com/nats-io/nats.go"

	"fairlead/wire"
)

// answer takes in a message on the pull inbox.
func (l *loop) answer(m *nats.Msg) {
	isClaim, broken := l.pulls.answered(m)
	if broken && !l.over() {
		l.cfg.Log.Warn().Str("status", m.Header.Get("Status")).Str("detail", m.Header.Get("Description")).
			Msg("the consumer does not answer; making it anew")
		l.renew()
	}
	if isClaim {
		l.take(m)
	}
}

// take books a claim that has been delivered.
func (l *loop) take(m *nats.Msg) {
	meta, err := m.Metadata()
	if err != nil {
		l.cfg.Log.Error().Err(err).Msg("a delivery that is no claim")
		return
	}
	seq := meta.Sequence.Stream
	if l.superseded {
		return
	}
	if e := l.ledger.entries[seq]; e != nil {
		e.job.ack.Store(&m.Reply) // delivered again: only the newest reply acknowledges
		return
	}
	if l.ledger.settled[seq] {
		l.tasks.Go(func() { l.acknowledgeAgain(seq, m.Reply) })
		return
	}
	e := &entry{seq: seq, taken: time.Now()}
	err = wire.Decode(m.Data, &e.claim)
	if err != nil && !errors.Is(err, wire.ErrVersion) {
		l.cfg.Log.Error().Err(err).Uint64("claim", seq).Msg("cannot read a claim; it stays in WORK")
		l.unreadable[seq] = true
		return
	}
	l.epoch = max(l.epoch, e.claim.Epoch) // whoever was deposed before commands nothing here
	e.job = l.newJob(e, m.Reply)
	l.ledger.add(e)
	l.beat.changed()
	switch {
	case err != nil: // of a newer broker: its first fields can be read
		l.cfg.Log.Error().Err(err).Uint64("claim", seq).Msg("gave a claim back; update this agent")
		l.withdraw(e, outcome{status: wire.StatusReturned, detail: err.Error(), retryAfter: tooOldRetry})
	case l.draining:
		l.withdraw(e, outcome{status: wire.StatusReturned, detail: errAborted.Error()})
	}
}

// tooOldRetry is how long an agent stays without work that is older than its
// broker: time to update it, or for a broker of its own version.
const tooOldRetry = time.Minute

// withdraw settles a claim that waits for a slot, without one.
func (l *loop) withdraw(e *entry, o outcome) {
	l.ledger.withdraw(e)
	l.tasks.Go(func() { e.job.conclude(o) })
}

// launch starts the job of an entry.
func (l *loop) launch(e *entry) {
	j := e.job
	j.prefill = l.estimate(e)
	l.tasks.Go(func() { j.run() })
}
