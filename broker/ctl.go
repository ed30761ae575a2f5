package broker

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/nats-io/nats.go"

	"fairlead/broker/arbiter"
	"fairlead/internal/store"
	"fairlead/wire"
)

// openCtl answers the requests that only the leader can answer.
func (t *term) openCtl() error {
	names := t.b.cfg.Names
	for subject, handle := range map[string]nats.MsgHandler{
		names.CtlCancel(): t.onCancel,
		names.CtlStatus(): t.onStatus,
		names.CtlModels(): t.onModels,
	} {
		sub, err := t.b.cfg.Conn.Subscribe(subject, handle)
		if err != nil {
			return err
		}
		t.ctl = append(t.ctl, sub)
	}
	return nil
}

func (t *term) closeCtl() {
	for _, s := range t.ctl {
		_ = s.Unsubscribe() // the connection may be gone already
	}
	for _, m := range t.asked {
		t.askElsewhere(m)
	}
}

// askElsewhere answers as the server does when nobody leads: ask again, the next leader.
func (t *term) askElsewhere(m *nats.Msg) {
	if m.Reply == "" {
		return
	}
	nobody := nats.NewMsg(m.Reply)
	nobody.Header.Set("Status", "503")
	if err := t.b.cfg.Conn.PublishMsg(nobody); err != nil {
		t.b.log.Debug().Err(err).Str("subject", m.Subject).Msg("control request not answered")
	}
}

func (t *term) respond(m *nats.Msg, v any) {
	if m.Reply == "" {
		return
	}
	body, err := json.Marshal(v)
	if err == nil {
		err = m.Respond(body)
	}
	if err != nil {
		t.b.log.Debug().Err(err).Str("subject", m.Subject).Msg("control request not answered")
	}
}

// onCancel takes an id as JSON or as a plain number.
func (t *term) onCancel(m *nats.Msg) {
	var q wire.CancelRequest
	body := strings.TrimSpace(string(m.Data))
	id, err := strconv.ParseUint(body, 10, 64)
	if err == nil {
		q.ID = id
	} else if jerr := json.Unmarshal(m.Data, &q); jerr != nil || q.ID == 0 {
		t.respond(m, wire.CancelReply{Error: `body: want {"id": 123} or a plain number`})
		return
	}
	t.ask(func() { t.cancelRequest(m, q.ID) })
}

// cancelRequest gives the arbiter a cancel, once it has read as far as the
// request: a cancel may overtake what it is about.
func (t *term) cancelRequest(m *nats.Msg, id uint64) {
	if t.winding {
		t.askElsewhere(m)
		return
	}
	if t.arb.Recovered() && !t.arb.Seen(id) {
		t.cancelEarly(m, id)
		return
	}
	t.token++
	t.asked[t.token] = m
	if err := t.step(arbiter.Cancel{Token: t.token, ID: id}); err != nil {
		t.broken = err
	}
}

const (
	// maxEarly bounds the cancels that wait for their request: anybody who may cancel
	// can name requests that will never be.
	maxEarly = 256
	// unknownAfter is how long the leader of REQ must have nothing so new until a request
	// is unknown: one just elected does not show all that was acknowledged.
	unknownAfter = 2 * time.Second
)

// cancelEarly has a cancel wait for its request, apart from the jobs that others wait for.
func (t *term) cancelEarly(m *nats.Msg, id uint64) {
	select {
	case t.early <- struct{}{}:
		t.group.Go(func() error {
			defer func() { <-t.early }()
			t.cancelLater(t.ctx, m, id)
			return nil
		})
	default:
		t.respond(m, wire.CancelReply{ID: id, Error: "too many cancels name requests that the leader has not read; ask again"})
	}
}

// cancelLater waits until a request has been read that REQ holds.
func (t *term) cancelLater(ctx context.Context, m *nats.Msg, id uint64) {
	_, err := backoff.Retry(ctx, func() (struct{}, error) {
		try, cancel := context.WithTimeout(ctx, tryTimeout)
		defer cancel()
		_, err := t.b.store.LeaderGet(try, t.b.cfg.Names.StreamREQ(), id)
		if errors.Is(err, store.ErrNotFound) {
			err = backoff.Permanent(err)
		}
		return struct{}{}, err
	}, backoff.WithBackOff(patient()), backoff.WithMaxElapsedTime(unknownAfter))
	if err == nil {
		err = t.intake.req.reach(ctx, t.b.store, id)
	}
	switch {
	case err == nil:
		t.ask(func() {
			if t.arb.Seen(id) {
				t.cancelRequest(m, id)
				return
			}
			t.respond(m, wire.CancelReply{ID: id, Outcome: wire.CancelDone}) // deleted while it was waited for
		})
	case errors.Is(err, store.ErrNotFound), errors.Is(err, store.ErrBehind):
		t.respond(m, wire.CancelReply{ID: id, Outcome: wire.CancelUnknown})
	default:
		t.b.log.Debug().Err(err).Uint64("id", id).Msg("cancel not answered")
	}
}

func (t *term) answerCancel(act arbiter.CancelAnswer) {
	m := t.asked[act.Token]
	delete(t.asked, act.Token)
	if m != nil {
		t.respond(m, act.Reply)
	}
}

func (t *term) onStatus(m *nats.Msg) {
	var q wire.StatusRequest
	if len(m.Data) > 0 {
		if err := json.Unmarshal(m.Data, &q); err != nil {
			t.respond(m, wire.BrokerStatus{Error: `body: want nothing, {"ids": [123]} or {"explain": {"id": 123}}`})
			return
		}
	}
	t.ask(func() {
		s := wire.BrokerStatus{Epoch: t.lease.epoch, Recovered: t.arb.Recovered()}
		switch {
		case q.Explain != nil:
			s.Explain = t.explain(q.Explain)
		case len(q.IDs) > 0:
			s.Requests = t.arb.Requests(time.Now(), q.IDs)
		default:
			s = t.arb.Status(time.Now())
		}
		s.Leader, s.Policy = t.b.cfg.Name, t.b.policies.status()
		t.respond(m, s)
	})
}

// explain answers for a request in the system, or for the message of one that
// nobody has asked.
func (t *term) explain(q *wire.ExplainRequest) *wire.Explanation {
	if q.ID != 0 {
		x := t.arb.Explain(q.ID)
		return &x
	}
	m := wire.Message{Subject: t.b.cfg.Names.Req(q.Class), Header: wire.Header{}, Size: max(1, q.Size)}
	for key, value := range q.Headers {
		m.Header[key] = []string{value}
	}
	req, refusal := t.b.rules.ParseRequest(m)
	if refusal != nil {
		return &wire.Explanation{Prospect: wire.ProspectRefused, Reason: refusal.Reason, Why: refusal.Detail}
	}
	x := t.arb.ExplainNew(req)
	return &x
}

func (t *term) onModels(m *nats.Msg) {
	t.ask(func() { t.respond(m, wire.Models{Models: t.arb.Models()}) })
}
