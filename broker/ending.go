package broker

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"fairlead/broker/arbiter"
	"fairlead/internal/store"
	"fairlead/wire"
)

// insist repeats a store operation until it succeeds or the term ends. Each try
// has a context of its own: a stream whose leader is lost does not answer, and
// its next leader does not know that it was asked.
func (t *term) insist(ctx context.Context, what string, op func(context.Context) error) bool {
	said := false
	_, err := backoff.Retry(ctx, func() (struct{}, error) {
		try, cancel := context.WithTimeout(ctx, tryTimeout)
		defer cancel()
		err := op(try)
		if err != nil && ctx.Err() == nil {
			t.b.metrics.storeRetry()
			if !said {
				said = true
				t.b.log.Warn().Err(err).Msg(what + ": trying again")
			}
		}
		return struct{}{}, err
	}, backoff.WithBackOff(patient()), backoff.WithMaxElapsedTime(0))
	return err == nil
}

// tryTimeout bounds one try of a store operation; the store answers in
// milliseconds, or not at all.
const tryTimeout = 3 * time.Second

// carryOut carries out a stored verdict. Every step may be repeated by a later leader,
// so each is idempotent, and the verdict goes last. DEAD may be full, and nobody but
// other dead letters is to wait for room there.
func (t *term) carryOut(act arbiter.End) {
	end := func(ctx context.Context) { t.end(ctx, act) }
	if !act.Verdict.Dead {
		t.does.add(end)
		return
	}
	t.dead.add(func(ctx context.Context) {
		if t.insist(ctx, "keep dead letter", func(ctx context.Context) error { return t.keepDead(ctx, &act.Verdict) }) {
			t.does.add(end)
		}
	})
}

// end tells what a verdict says, and removes what is left of the request.
func (t *term) end(ctx context.Context, act arbiter.End) {
	v := &act.Verdict
	if !t.insist(ctx, "tell client", func(ctx context.Context) error { return t.tell(ctx, v) }) {
		return
	}
	t.dropClaims(ctx, act.Claims...)
	t.clean.finish(v.ID, func() {
		t.does.add(func(ctx context.Context) {
			if t.dropClaims(ctx, act.Seq) {
				t.post(arbiter.Ended{ID: v.ID})
			}
		})
	})
}

// tell sends the client the reason: to its inbox, or to where it will look.
func (t *term) tell(ctx context.Context, v *wire.Verdict) error {
	failure := wire.Failure{Reason: v.Reason, Detail: v.Detail, RetryAfter: time.Duration(v.RetryAfterMS) * time.Millisecond}
	m := nats.NewMsg(v.ReplyTo)
	m.Header = wire.Origin{ID: v.ID}.FinalError(0, failure)
	if v.ReplyTo != "" {
		return t.b.cfg.Conn.PublishMsg(m)
	}
	m.Subject = t.b.cfg.Names.Res(v.ID)
	m.Header.Set(wire.HeaderMsgID, idHeader("verdict", v.ID))
	_, err := t.b.store.JS.PublishMsg(ctx, m)
	return err
}

// keepDead copies the whole request to DEAD. One that is as large as a message may be
// leaves no room to say more, and perhaps none to say why: such a request is told to
// its client alone, who would else never hear of it.
func (t *term) keepDead(ctx context.Context, v *wire.Verdict) error {
	q, err := t.b.store.Get(ctx, t.b.cfg.Names.StreamREQ(), v.ID)
	if errors.Is(err, store.ErrNotFound) {
		return nil // an earlier leader got that far
	}
	if err != nil {
		return err
	}
	m := t.deadLetter(v, q)
	_, err = t.b.store.JS.PublishMsg(ctx, m)
	if tooLarge(err) {
		m.Header.Del(wire.HeaderDeadDetail)
		_, err = t.b.store.JS.PublishMsg(ctx, m)
	}
	if tooLarge(err) {
		t.b.metrics.deadLost()
		t.b.log.Error().Err(err).Uint64("id", v.ID).Str("class", v.Class).Str("detail", v.Detail).
			Msg("a request given up is too large to be kept as a dead letter; its client is told")
		return nil
	}
	return err
}

// tooLarge reports that no repetition will store a message.
func tooLarge(err error) bool {
	var api *jetstream.APIError
	return errors.Is(err, nats.ErrMaxPayload) ||
		errors.As(err, &api) && (api.ErrorCode == store.CodeMessageTooLarge || api.ErrorCode == store.CodeHeaderTooLarge)
}

func (t *term) deadLetter(v *wire.Verdict, q store.Message) *nats.Msg {
	m := nats.NewMsg(t.b.cfg.Names.Dead(v.Class))
	m.Data = q.Data
	for key, values := range q.Header {
		if !natsOwn(key) {
			m.Header[key] = values
		}
	}
	m.Header.Set(wire.HeaderMsgID, idHeader("dead", v.ID))
	m.Header.Set(wire.HeaderDeadID, strconv.FormatUint(v.ID, 10))
	m.Header.Set(wire.HeaderDeadReason, string(v.Reason))
	m.Header.Set(wire.HeaderDeadDetail, v.Detail)
	m.Header.Set(wire.HeaderDeadAttempts, strconv.FormatUint(uint64(v.Attempt), 10))
	m.Header.Set(wire.HeaderDeadWorker, v.Worker)
	m.Header.Set(wire.HeaderDeadSubject, q.Subject)
	return m
}

// natsOwn reports whether a header means something to the server: dedup ids,
// times to live, and what a direct get adds.
func natsOwn(key string) bool { return len(key) > 5 && key[:5] == "Nats-" }

// finish removes a finished request, its claims first.
func (t *term) finish(act arbiter.Finish) {
	if len(act.Claims) == 0 {
		t.clean.finish(act.ID, nil)
		return
	}
	t.does.add(func(ctx context.Context) {
		t.dropClaims(ctx, act.Claims...)
		t.clean.finish(act.ID, nil)
	})
}

// dropClaims deletes messages of WORK; one that is gone already is fine.
func (t *term) dropClaims(ctx context.Context, seqs ...uint64) bool {
	for _, seq := range seqs {
		op := func(ctx context.Context) error { return t.b.store.Delete(ctx, t.b.cfg.Names.StreamWORK(), seq) }
		if seq != 0 && !t.insist(ctx, "delete claim", op) {
			return false
		}
	}
	return true
}

// syncDone answers once everything in DONE that was stored before now has been
// delivered to the loop.
func (t *term) syncDone(ctx context.Context, answer arbiter.Event) {
	switch err := t.intake.doneToEnd(ctx); {
	case err == nil:
		t.post(answer)
	case errors.Is(err, errHole):
		t.fail(err)
	}
}

// checkClaim looks for a claim in WORK.
func (t *term) checkClaim(ctx context.Context, act arbiter.CheckClaim) {
	answer := arbiter.ClaimChecked{ID: act.ID, Claim: act.Claim, Present: true}
	ok := t.insist(ctx, "look for claim", func(ctx context.Context) error {
		_, err := t.b.store.LeaderGet(ctx, t.b.cfg.Names.StreamWORK(), act.Claim)
		if errors.Is(err, store.ErrNotFound) {
			answer.Present = false
			return nil
		}
		if err != nil {
			return fmt.Errorf("claim %d: %w", act.Claim, err)
		}
		return nil
	})
	switch {
	case !ok:
	case answer.Present:
		t.post(answer)
	default:
		t.syncDone(ctx, answer)
	}
}
