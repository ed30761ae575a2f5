package broker

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"

	"github.com/nats-io/nats.go"

	"fairlead/broker/arbiter"
	"fairlead/internal/store"
	"fairlead/wire"
)

// submit gives a fenced write to whichever guard is free.
func (t *term) submit(prepare func(context.Context) (*nats.Msg, error), stored func(seq uint64)) {
	t.open++
	t.fence.writes <- write{prepare: prepare, stored: stored}
}

// handOut stores a claim.
func (t *term) handOut(act arbiter.HandOut) {
	prepare := func(context.Context) (*nats.Msg, error) {
		m := nats.NewMsg(t.b.cfg.Names.Work(act.Worker, act.Incarnation))
		m.Header.Set(wire.HeaderMsgID, act.Claim.DedupID())
		m.Data = wire.Encode(&act.Claim)
		return m, nil
	}
	t.submit(prepare, func(seq uint64) {
		t.post(arbiter.HandedOut{ID: act.Claim.ID, Attempt: act.Claim.Attempt, Seq: seq})
	})
}

// storeVerdict stores a verdict with the reply subject of its request, so that
// the client can be told even when the request is gone by then.
func (t *term) storeVerdict(act arbiter.StoreVerdict) {
	v := act.Verdict
	known := t.reply.id == v.ID
	if known {
		v.ReplyTo = t.reply.to
	}
	prepare := func(ctx context.Context) (*nats.Msg, error) {
		if !known {
			to, err := t.replyTo(ctx, v.ID)
			if err != nil {
				return nil, err
			}
			v.ReplyTo = to
		}
		m := nats.NewMsg(t.b.cfg.Names.Verdict(v.ID))
		m.Header.Set(wire.HeaderMsgID, v.DedupID())
		m.Data = wire.Encode(&v)
		return m, nil
	}
	t.submit(prepare, func(seq uint64) { t.post(arbiter.VerdictStored{Seq: seq, Verdict: v}) })
}

// replyTo reads where the result of a request goes; "" when that is res.<id>, or
// the request is gone.
func (t *term) replyTo(ctx context.Context, id uint64) (string, error) {
	m, err := t.b.store.Get(ctx, t.b.cfg.Names.StreamREQ(), id)
	if errors.Is(err, store.ErrNotFound) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	q, _ := t.b.rules.ParseRequest(wire.Message{Subject: m.Subject, Header: m.Header, Size: len(m.Data)})
	return q.ReplyTo, nil
}

// saved is the content of drr in WORK.
type saved struct {
	Epoch uint64        `json:"epoch"`
	Rings arbiter.Saved `json:"rings"`
}

// save leaves deficits and cursors to whoever leads next: fenced, and one message
// only. It is skipped while the guards are all at work.
func (t *term) save() {
	if !t.arb.Recovered() || len(t.fence.writes) > 0 {
		return
	}
	body, err := json.Marshal(saved{Epoch: t.lease.epoch, Rings: t.arb.Save()})
	if err != nil {
		t.b.log.Error().Err(err).Msg("encode deficits")
		return
	}
	prepare := func(context.Context) (*nats.Msg, error) {
		m := nats.NewMsg(t.b.cfg.Names.DRR())
		m.Header.Set(wire.HeaderRollup, "sub")
		m.Data = body
		return m, nil
	}
	t.submit(prepare, func(uint64) {
		t.ask(func() { t.open-- })
	})
}

// idHeader is the dedup id of what the broker itself says about a request.
func idHeader(kind string, id uint64) string { return kind + "." + strconv.FormatUint(id, 10) }
