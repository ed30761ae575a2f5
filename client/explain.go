package client

import (
	"context"
	"errors"
	"fmt"

	"fairlead/wire"
)

// Explain asks the leader how a request is scheduled: where it waits, and what is
// before it.
func (c *Client) Explain(ctx context.Context, id uint64) (wire.Explanation, error) {
	var reply wire.BrokerStatus
	err := c.ask(ctx, c.names.CtlStatus(), wire.StatusRequest{Explain: &wire.ExplainRequest{ID: id}}, &reply)
	switch {
	case err == nil && reply.Error != "":
		err = errors.New(reply.Error)
	case err == nil && reply.Explain == nil:
		err = errors.New("the leader did not answer the question")
	}
	if err != nil {
		return wire.Explanation{}, fmt.Errorf("explain %d: %w", id, err)
	}
	return *reply.Explain, nil
}
