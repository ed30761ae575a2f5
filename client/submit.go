package client

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"fairlead/internal/store"
	"fairlead/wire"
)

// Submit asks. When it returns without an error the request is stored and has
// an id. A request that is not taken is an *[Error]; any other error means that
// the store gave no answer, and then the request may have been taken or not: ask
// again with an IdempotencyKey, and it is asked once. ctx bounds only Submit.
func (c *Client) Submit(ctx context.Context, r Request) (*Pending, error) {
	inbox := c.nc.NewInbox()
	m, err := r.message(c.names, inbox, r.msgID(inbox[strings.LastIndexByte(inbox, '.')+1:]))
	if err != nil {
		return nil, err
	}
	p := c.newPending(r.stored(), r.Retry == wire.RetryAlways)
	if p.body, err = c.spill(ctx, m); err != nil {
		return nil, err
	}
	if !p.stored {
		p.subject = inbox
		if err := c.listen(p); err != nil { // before publishing: the answer may be quick
			return nil, err
		}
	}
	ack, err := c.publish(ctx, m, p)
	if err != nil {
		p.Close()
		if err = c.explain(err, m); errors.As(err, new(*Error)) { // else it may have been taken
			c.drop(p.body)
		}
		return nil, err
	}
	p.Duplicate = ack.Duplicate && r.IdempotencyKey != ""
	c.taken(p, ack.Sequence, r.TTL)
	return p, nil
}

// taken makes p the request with an id.
func (c *Client) taken(p *Pending, id uint64, ttl time.Duration) {
	if p.stored {
		p.subject = c.names.Res(id)
	}
	var until time.Time
	if ttl > 0 {
		until = time.Now().Add(min(ttl, maxClock) + c.cfg.DeadlineGrace)
	}
	p.receipt(id, until)
}

// maxClock is the longest time to live that the client's own clock ends.
const maxClock = 100 * 365 * 24 * time.Hour

func (c *Client) newPending(stored, always bool) *Pending {
	return &Pending{
		c: c, stored: stored, wake: make(chan struct{}, 1), quiet: time.Now(),
		asm: assembly{stored: stored, always: always, maxBuffered: c.cfg.MaxBuffered},
	}
}

const (
	ackWait      = 5 * time.Second  // for one answer of the store, before the publish is repeated
	nobodyWait   = 10 * time.Second // for a stream whose leader is being elected: NATS takes 4 to 9 s after a silent partition
	firstBackoff = 20 * time.Millisecond
	maxBackoff   = 500 * time.Millisecond
)

// publish sends the message until the store has answered, always with the same
// deduplication id. A result that arrives meanwhile is an answer too.
func (c *Client) publish(ctx context.Context, m *nats.Msg, p *Pending) (*jetstream.PubAck, error) {
	started := time.Now()
	op := func() (*jetstream.PubAck, error) {
		once, cancel := context.WithTimeout(ctx, ackWait)
		defer cancel()
		ack, err := c.store.JS.PublishMsg(once, m, jetstream.WithRetryAttempts(0))
		if err == nil {
			return ack, nil
		}
		if id := p.heardID(); id != 0 {
			return &jetstream.PubAck{Sequence: id}, nil
		}
		if ctx.Err() != nil || !repeatable(err) || absent(err) && time.Since(started) > nobodyWait {
			return nil, backoff.Permanent(err)
		}
		return nil, err
	}
	return backoff.Retry(ctx, op, backoff.WithBackOff(quickBackoff()), backoff.WithMaxElapsedTime(c.cfg.PublishTimeout))
}

func quickBackoff() backoff.BackOff {
	b := backoff.NewExponentialBackOff()
	b.InitialInterval, b.MaxInterval = firstBackoff, maxBackoff
	return b
}

// repeatable reports whether the same call may do better in a moment.
func repeatable(err error) bool {
	var api *jetstream.APIError
	switch {
	case errors.As(err, &api):
		return api.ErrorCode == store.CodeDuplicateInProcess
	case errors.Is(err, nats.ErrMaxPayload), errors.Is(err, nats.ErrConnectionClosed):
		return false
	}
	return true // timeouts, a full reconnect buffer, no stream leader
}

// absent reports that nobody takes the subject.
func absent(err error) bool {
	return errors.Is(err, jetstream.ErrNoStreamResponse) || errors.Is(err, nats.ErrNoResponders)
}

// explain says what a failed publish means.
func (c *Client) explain(err error, m *nats.Msg) error {
	var api *jetstream.APIError
	switch {
	case errors.Is(err, nats.ErrMaxPayload):
		return newError(wire.TooLarge, "%d bytes; the server takes at most %d (max_payload), headers included", m.Size(), c.nc.MaxPayload())
	case absent(err):
		return fmt.Errorf("ask on %s: no stream takes it, so there is no Fairlead on this connection, or its cluster lacks a majority: is a broker running, and is %s right: %w",
			m.Subject, c.describeNamespace(), err)
	case errors.As(err, &api) && api.ErrorCode == store.CodeMessageTooLarge:
		return newError(wire.TooLarge, "%d bytes; more than the stream %s takes (max_msg_size)", m.Size(), c.names.StreamREQ())
	case errors.As(err, &api) && noRoom(api.ErrorCode):
		return newError(wire.QueueFull, "the store has no room for the stream %s: %s", c.names.StreamREQ(), api.Description)
	case api != nil:
		return fmt.Errorf("ask on %s: %w", m.Subject, api)
	}
	return fmt.Errorf("ask on %s: %w", m.Subject, err)
}

// codeInsufficient is what JetStream answers when the server has no room, whatever
// the stream may hold.
const codeInsufficient jetstream.ErrorCode = 10023

// noRoom reports that the store took nothing because it is full.
func noRoom(code jetstream.ErrorCode) bool {
	return code == store.CodeStreamStoreFailed || code == store.CodeStorageResources || code == codeInsufficient
}

func (c *Client) describeNamespace() string {
	if n := c.names.Namespace(); n != "" {
		return fmt.Sprintf("the namespace %q", n)
	}
	return "the empty namespace"
}

func (p *Pending) heardID() uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.heard
}
