package agent

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/nats-io/nats.go"

	"fairlead/wire"
)

// sink is where the messages of one result go. Its first two methods try again
// until the message has been handed over, the context ends, or it is too large,
// which is nats.ErrMaxPayload.
type sink interface {
	chunk(ctx context.Context, index int, h wire.Header, data []byte) error
	// final returns when the server has the message.
	final(ctx context.Context, index int, h wire.Header, data []byte) error
	// probe asks the server whether anybody listens, where that can be asked; it
	// may get lost.
	probe()
}

// sink chooses: the reply subject that the client gave, else the stream RES.
func (j *job) sink(replyTo string) sink {
	if replyTo == "" {
		return &storedSink{j: j, subject: j.l.st.Names.Res(j.claim.ID)}
	}
	return &replySink{j: j, subject: replyTo}
}

// replySink publishes on core NATS. Each message names a subject on which the
// server tells us at once that nobody listens.
type replySink struct {
	j       *job
	subject string
}

func (s *replySink) message(index int, h wire.Header, data []byte) *nats.Msg {
	return &nats.Msg{
		Subject: s.subject, Header: nats.Header(h), Data: data,
		Reply: s.j.l.silenceSubject(strconv.FormatUint(s.j.seq, 10), strconv.Itoa(index)),
	}
}

func (s *replySink) chunk(ctx context.Context, index int, h wire.Header, data []byte) error {
	m := s.message(index, h, data)
	if err := s.j.l.st.NC.PublishMsg(m); err == nil {
		return nil
	}
	return insist(ctx, func(context.Context) error { return s.j.l.st.NC.PublishMsg(m) }, s.j.l.complain("send a chunk"))
}

func (s *replySink) final(ctx context.Context, index int, h wire.Header, data []byte) error {
	m := s.message(index, h, data)
	nc := s.j.l.st.NC
	return insist(ctx, func(ctx context.Context) error {
		if err := nc.PublishMsg(m); err != nil {
			return err
		}
		return flushed(nc, nc.FlushWithContext(ctx))
	}, s.j.l.complain("send a final message"))
}

// probe sends a message without anything in it, which clients ignore.
func (s *replySink) probe() {
	const noIndex = -1 // it is not one of the result's messages
	if err := s.j.l.st.NC.PublishMsg(s.message(noIndex, nil, nil)); err != nil {
		s.j.l.cfg.Log.Debug().Err(err).Msg("cannot send a probe")
	}
}

// errBroken says that a connection broke under a flush.
var errBroken = errors.New("the connection to NATS broke")

// flushed judges the error of a flush. One that loses its connection says "closed"
// although the connection is about to come back.
func flushed(nc *nats.Conn, err error) error {
	if errors.Is(err, nats.ErrConnectionClosed) && !nc.IsClosed() {
		return errBroken
	}
	return err
}

// storedSink publishes into RES, in order, each message after the
// acknowledgement of the one before.
type storedSink struct {
	j       *job
	subject string
}

func (s *storedSink) chunk(ctx context.Context, _ int, h wire.Header, data []byte) error {
	return s.publish(ctx, &nats.Msg{Subject: s.subject, Header: nats.Header(h), Data: data})
}

// final carries a dedup id, so that a lost acknowledgement makes no second final
// message; a chunk that is stored twice shows by its index.
func (s *storedSink) final(ctx context.Context, _ int, h wire.Header, data []byte) error {
	m := &nats.Msg{Subject: s.subject, Header: nats.Header(h), Data: data}
	m.Header.Set(wire.HeaderMsgID, fmt.Sprintf("%d.%d", s.j.claim.ID, s.j.seq))
	return s.publish(ctx, m)
}

// probe does nothing: a stored result needs no listener.
func (s *storedSink) probe() {}

func (s *storedSink) publish(ctx context.Context, m *nats.Msg) error {
	return insist(ctx, func(ctx context.Context) error {
		_, err := s.j.l.st.JS.PublishMsg(ctx, m)
		return err
	}, s.j.l.complain("store a result"))
}
