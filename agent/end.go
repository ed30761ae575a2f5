package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go"

	"fairlead/wire"
)

// drain stops taking work: what waits for a slot, and what still comes in, goes
// back; what runs is finished.
func (l *loop) drain() {
	if l.draining || l.superseded {
		return
	}
	l.draining = true
	l.cfg.Log.Info().Int("in_hand", len(l.ledger.entries)).Msg("draining: taking no more work")
	l.notReady(l.incarnation, errors.New("draining"))
	l.giveBackWaiting()
	l.beat.changed()
}

func (l *loop) giveBackWaiting() {
	for _, e := range slices.Clone(l.ledger.queue) {
		l.withdraw(e, outcome{status: wire.StatusReturned, detail: errAborted.Error()})
	}
}

// abort cancels the engine calls; the jobs give their work back, for which they
// have the leave grace.
func (l *loop) abort() {
	l.drain()
	l.cfg.Log.Warn().Int("in_hand", len(l.ledger.entries)).Msg("aborting: giving work back")
	l.endLife(errAborted)
	late := time.AfterFunc(l.cfg.LeaveGrace, func() { l.endLeave(errAborted) })
	context.AfterFunc(l.leave, func() { late.Stop() })
}

// supersede ends everything without another word about the claims.
func (l *loop) supersede(reason string) {
	if l.superseded {
		return
	}
	l.superseded = true
	l.cfg.Log.Error().Str("reason", reason).Msg("told to stop: this agent has been superseded")
	l.notReady(l.incarnation, ErrSuperseded)
	l.endLeave(ErrSuperseded) // first: no job may still speak when its call ends
	l.endLife(ErrSuperseded)
	for _, e := range slices.Clone(l.ledger.queue) {
		l.ledger.withdraw(e)
		l.ledger.remove(e) // never started: no job will report its end
	}
}

// farewell is what the agent says and does last.
func (l *loop) farewell() error {
	if l.superseded {
		return fmt.Errorf("agent: %w", ErrSuperseded)
	}
	l.pulse() // draining, nothing in flight
	ctx, cancel := context.WithTimeout(context.Background(), l.cfg.LeaveGrace)
	defer cancel()
	stream := l.st.Names.StreamWORK()
	if err := l.st.JS.DeleteConsumer(ctx, stream, l.pulls.name); err != nil {
		l.cfg.Log.Warn().Err(err).Msg("the consumer stays behind; the server removes it when it has been idle")
	}
	if err := l.st.NC.FlushWithContext(ctx); err != nil {
		l.cfg.Log.Warn().Err(err).Msg("the last heartbeat may not have arrived")
	}
	if l.lost > 0 {
		return fmt.Errorf("agent: %d claims could not be settled before the end; the broker treats them as lost", l.lost)
	}
	l.cfg.Log.Info().Msg("left")
	return nil
}

// command takes in what the broker wants.
func (l *loop) command(m *nats.Msg) {
	var c wire.Command
	if err := wire.Decode(m.Data, &c); err != nil {
		l.cfg.Log.Warn().Err(err).Msg("cannot read a command")
		return
	}
	if c.Epoch < l.epoch {
		l.cfg.Log.Info().Uint64("epoch", c.Epoch).Uint64("highest", l.epoch).Msg("ignored a command of a deposed broker")
		return
	}
	l.epoch = c.Epoch
	switch c.Kind {
	case wire.CommandStop:
		l.supersede(c.Reason)
	case wire.CommandCancel:
		l.cancel(&c)
	default:
		l.cfg.Log.Warn().Str("kind", string(c.Kind)).Msg("unknown command of a newer broker; ignored")
	}
}

// cancel ends the execution that a command names, if it is here.
func (l *loop) cancel(c *wire.Command) {
	e := l.ledger.find(c)
	if e == nil {
		return
	}
	l.cfg.Log.Debug().Uint64("id", c.ID).Str("reason", c.Reason).Msg("cancelled")
	if e.phase == waiting {
		l.withdraw(e, outcome{status: wire.StatusCancelled, reason: wire.Cancelled})
		return
	}
	e.job.cancel(errCancelled)
}
