package agent

import (
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats.go"

	"fairlead/internal/store"
	"fairlead/wire"
)

// settle says how the execution ended, in the order that loses nothing: final
// message, DONE, acknowledgement. It is false when the agent's end came first.
// An answer that is too large to send makes done an error.
func (j *job) settle(o outcome, done *wire.Done) bool {
	err := j.final(o)
	if errors.Is(err, nats.ErrMaxPayload) {
		usage := o.usage
		o = j.tooLarge(o.to, "the answer")
		o.usage = usage
		*done = *j.done(o)
		err = j.final(o)
	}
	if err == nil {
		err = j.l.storeDone(done)
	}
	if err == nil {
		err = j.l.acknowledge(j.seq, func() string { return *j.ack.Load() })
	}
	if err != nil {
		j.l.cfg.Log.Debug().Err(err).Uint64("id", j.claim.ID).Msg("left a claim unsettled")
	}
	return err == nil
}

// final sends the last message of the result, when the client is to be told.
func (j *job) final(o outcome) error {
	if o.to == nil {
		return nil
	}
	index := int(j.sent.Load())
	var h wire.Header
	if o.status == wire.StatusOK {
		h = j.origin().FinalOK(index, o.usage)
	} else {
		h = j.origin().FinalError(index, wire.Failure{Reason: o.reason, Code: o.code, Detail: o.detail, RetryAfter: o.retryAfter})
	}
	if len(o.body) > 0 && o.contentType != "" {
		h[wire.HeaderContentType] = []string{o.contentType}
	}
	return o.to.final(j.l.leave, index, h, o.body)
}

// acknowledgeAgain answers a delivery that crossed the acknowledgement of its
// claim.
func (l *loop) acknowledgeAgain(seq uint64, reply string) {
	if err := l.acknowledge(seq, func() string { return reply }); err != nil {
		l.cfg.Log.Debug().Err(err).Uint64("claim", seq).Msg("left a settled claim unacknowledged")
	}
}

// storeDone publishes the report until it is stored.
func (l *loop) storeDone(done *wire.Done) error {
	msg := nats.NewMsg(l.st.Names.Done(l.cfg.Worker))
	msg.Header.Set(wire.HeaderMsgID, done.DedupID())
	msg.Data = wire.Encode(done)
	return insist(l.leave, func(ctx context.Context) error {
		_, err := l.st.JS.PublishMsg(ctx, msg)
		return err
	}, l.complain("store a DONE"))
}

// ackTimeout bounds the wait for the confirmation of an acknowledgement.
const ackTimeout = time.Second

// acknowledge removes a claim from WORK, until that is confirmed. The handle may
// change meanwhile, when the consumer is made anew. A claim that the stream's
// leader does not have is as good: the broker has deleted it.
func (l *loop) acknowledge(seq uint64, handle func() string) error {
	return insist(l.leave, func(ctx context.Context) error {
		try, cancel := context.WithTimeout(ctx, ackTimeout)
		defer cancel()
		_, err := l.st.NC.RequestWithContext(try, handle(), []byte("+ACK"))
		if err == nil {
			return nil
		}
		if _, gone := l.st.LeaderGet(ctx, l.st.Names.StreamWORK(), seq); errors.Is(gone, store.ErrNotFound) {
			return nil
		}
		return err
	}, l.complain("acknowledge a claim"))
}
