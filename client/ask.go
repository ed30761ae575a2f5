package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/nats-io/nats.go"

	"fairlead/wire"
)

// leaderWait is how long to look for a leader: a lease and a take-over.
const leaderWait = 8 * time.Second

// Cancel asks the leader to end a request, whoever asked it.
func (c *Client) Cancel(ctx context.Context, id uint64) (wire.CancelOutcome, error) {
	var reply wire.CancelReply
	if err := c.ask(ctx, c.names.CtlCancel(), wire.CancelRequest{ID: id}, &reply); err != nil {
		return "", fmt.Errorf("cancel %d: %w", id, err)
	}
	if reply.Error != "" {
		return "", fmt.Errorf("cancel %d: %s", id, reply.Error)
	}
	return reply.Outcome, nil
}

// Status asks the leader for its classes and workers, or, with ids, for the
// state of these requests alone.
func (c *Client) Status(ctx context.Context, ids ...uint64) (wire.BrokerStatus, error) {
	var reply wire.BrokerStatus
	if err := c.ask(ctx, c.names.CtlStatus(), wire.StatusRequest{IDs: ids}, &reply); err != nil {
		return reply, fmt.Errorf("status: %w", err)
	}
	return reply, nil
}

// Models asks the leader for the models that live workers serve.
func (c *Client) Models(ctx context.Context) ([]wire.ModelStatus, error) {
	var reply wire.Models
	if err := c.ask(ctx, c.names.CtlModels(), struct{}{}, &reply); err != nil {
		return nil, fmt.Errorf("models: %w", err)
	}
	return reply.Models, nil
}

// ask makes a request of the leader, which may be in the middle of changing.
func (c *Client) ask(ctx context.Context, subject string, question, answer any) error {
	_, err := backoff.Retry(ctx, func() (struct{}, error) {
		once, cancel := context.WithTimeout(ctx, ackWait)
		defer cancel()
		err := c.request(once, subject, question, answer)
		if err != nil && !errors.Is(err, nats.ErrNoResponders) && once.Err() == nil {
			err = backoff.Permanent(err)
		}
		return struct{}{}, err
	}, backoff.WithBackOff(quickBackoff()), backoff.WithMaxElapsedTime(leaderWait))
	if errors.Is(err, nats.ErrNoResponders) {
		return fmt.Errorf("no broker leads on %s: is one running, and is %s right: %w", subject, c.describeNamespace(), err)
	}
	return err
}

func (c *Client) request(ctx context.Context, subject string, question, answer any) error {
	body, err := json.Marshal(question)
	if err != nil {
		return fmt.Errorf("encode: %w", err)
	}
	m, err := c.nc.RequestWithContext(ctx, subject, body)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(m.Data, answer); err != nil {
		return fmt.Errorf("read the answer on %s: %w", subject, err)
	}
	return nil
}

// cancelUnheard asks to end a request whose outcome is of no use any more. Its
// failure costs only the grace after which the worker notices by itself.
func (c *Client) cancelUnheard(id uint64) {
	if body, err := json.Marshal(wire.CancelRequest{ID: id}); err == nil {
		_ = c.nc.Publish(c.names.CtlCancel(), body)
	}
}
