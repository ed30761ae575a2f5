package broker

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"fairlead/broker/arbiter"
	"fairlead/internal/store"
	"fairlead/wire"
)

// recover tells the arbiter what its predecessors left, in the one order in which
// nothing can slip through: the guards are written, then WORK, DONE and REQ are
// read. The consumers of DONE and REQ go on afterwards.
func (t *term) recover(ctx context.Context) error {
	began := time.Now()
	if err := t.openCtl(); err != nil {
		return fmt.Errorf("answer control requests: %w", err)
	}
	t.b.ears.listenFor(t.post)
	rings, err := t.readWork(ctx)
	if err != nil {
		return quiet(ctx, fmt.Errorf("recover: read WORK: %w", err))
	}
	if err := t.intake.readDone(ctx); err != nil {
		return quiet(ctx, fmt.Errorf("recover: read DONE: %w", err))
	}
	if err := t.intake.readReq(ctx); err != nil {
		return quiet(ctx, fmt.Errorf("recover: read REQ: %w", err))
	}
	if missing := t.b.cfg.Timing.Listen - t.b.ears.heardFor(); missing > 0 {
		if err := pause(ctx, missing); err != nil {
			return nil
		}
	}
	t.ask(func() { t.recovery = time.Since(began) })
	t.post(arbiter.Recovered{Saved: rings})
	return nil
}

// readWork reads everything in WORK. The read is believed only when it has come
// to this leader's own last guard: a replica that is behind would end before it.
func (t *term) readWork(ctx context.Context) (arbiter.Saved, error) {
	r := workReader{term: t, next: 1, end: t.lease.guards[wire.Guards-1]}
	for {
		err := r.batch(ctx)
		switch {
		case r.done:
			return r.rings, nil
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case r.bad != nil:
			return nil, r.bad
		}
		if err != nil { // a replica that has not caught up, or nobody to ask just now
			if err := pause(ctx, 20*time.Millisecond); err != nil {
				return nil, err
			}
		}
	}
}

// workReader goes through WORK in batches.
type workReader struct {
	term  *term
	next  uint64 // sequence to go on from
	end   uint64 // own last guard
	done  bool
	bad   error // a message that no waiting mends
	alien int   // messages that no broker wrote
	rings arbiter.Saved
}

const workBatch = 1000

func (r *workReader) batch(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, tryTimeout)
	defer cancel()
	st := r.term.b.store
	for m, err := range st.Batch(ctx, st.Names.StreamWORK(), "", r.next, workBatch) {
		if err != nil {
			return err
		}
		r.next = m.Seq + 1
		if r.bad = r.take(&m); r.bad != nil {
			return r.bad
		}
		r.done = r.done || m.Seq >= r.end
	}
	return nil
}

// take sorts one message of WORK.
func (r *workReader) take(m *store.Message) error {
	t := r.term
	names := t.b.cfg.Names
	if worker, incarnation, ok := names.SplitWork(m.Subject); ok {
		ev := arbiter.ClaimFound{Seq: m.Seq, Worker: worker, Incarnation: incarnation}
		if err := wire.Decode(m.Data, &ev.Claim); err != nil {
			return r.passOver(m, "claim", ev.Claim.V, err)
		}
		t.post(ev)
		return nil
	}
	if id, ok := names.SplitID(m.Subject); ok && m.Subject == names.Verdict(id) {
		ev := arbiter.VerdictFound{Seq: m.Seq}
		if err := wire.Decode(m.Data, &ev.Verdict); err != nil {
			return r.passOver(m, "verdict", ev.Verdict.V, err)
		}
		t.post(ev)
		return nil
	}
	if m.Subject == names.DRR() {
		var s saved
		if err := json.Unmarshal(m.Data, &s); err != nil {
			t.b.log.Warn().Err(err).Msg("the saved deficits are unreadable; shares start anew")
		}
		r.rings = s.Rings
	}
	return nil
}

// passOver leaves out what no broker of ours wrote: it would keep every broker from
// leading. What a newer broker wrote must not be left out.
func (r *workReader) passOver(m *store.Message, kind string, version uint8, err error) error {
	if version > wire.Version {
		return fmt.Errorf("message %d: %w", m.Seq, err)
	}
	r.term.b.metrics.unreadable(kind)
	if r.alien++; r.alien == 1 {
		r.term.b.log.Warn().Err(err).Uint64("seq", m.Seq).Str("subject", m.Subject).
			Msg("a message in WORK is not a broker's; passing over all such")
	}
	return nil
}
