package client

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"fairlead/wire"
)

// Bodies that no message can carry go through a bucket: see subjects.md.

const (
	// messageRoom is what a message needs beside its body and its headers: the
	// subject, and what the server adds.
	messageRoom = 4 << 10
	// putTimeout bounds putting a body into the bucket.
	putTimeout = 2 * time.Minute
	// dropTimeout bounds removing one; what stays behind expires.
	dropTimeout = 5 * time.Second
	// maxDrops is how many bodies wait to be removed; more are left to expire.
	maxDrops = 256
)

// spill puts the body of a message that is too large for the server into the
// bucket, and names it instead. It returns that name, "" when the message carries
// its body itself.
func (c *Client) spill(ctx context.Context, m *nats.Msg) (name string, err error) {
	size := len(m.Data)
	if int64(size) > c.cfg.MaxBody {
		return "", newError(wire.TooLarge, "a body of %d bytes; want at most %d (MaxBody)", size, c.cfg.MaxBody)
	}
	if int64(m.Size()+messageRoom) <= c.nc.MaxPayload() {
		return "", nil
	}
	name, err = bodyName()
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, putTimeout)
	defer cancel()
	if err := c.store.PutBody(ctx, name, m.Data); err != nil {
		c.drop(name) // a part may be there
		return "", c.explainPut(err, size)
	}
	m.Header[wire.HeaderBody], m.Header[wire.HeaderBodySize] = []string{name}, []string{strconv.Itoa(size)}
	m.Data = nil
	return name, nil
}

// bodyName cannot be guessed: whoever knows it can read the body.
func bodyName() (string, error) {
	var b [16]byte
	if _, err := rand.Read(b[:]); err != nil {
		return "", fmt.Errorf("name a body: %w", err)
	}
	return hex.EncodeToString(b[:]), nil
}

// explainPut says what a body that could not be put means for the request.
func (c *Client) explainPut(err error, size int) error {
	var api *jetstream.APIError
	switch {
	case errors.Is(err, jetstream.ErrBucketNotFound):
		return newError(wire.TooLarge, "%d bytes; the server takes at most %d in a message (max_payload), and there is no bucket %s for more: is the broker too old",
			size, c.nc.MaxPayload(), c.names.BucketBodies())
	case errors.As(err, &api) && noRoom(api.ErrorCode):
		return newError(wire.QueueFull, "the bucket %s has no room for a body of %d bytes", c.names.BucketBodies(), size)
	}
	return err
}

// drop removes a body from the bucket, in its own time.
func (c *Client) drop(name string) {
	if name == "" {
		return
	}
	select {
	case c.drops <- name:
	default:
	}
}

// sweep removes the bodies that are of no use any more.
func (c *Client) sweep() {
	for {
		select {
		case name := <-c.drops:
			ctx, cancel := context.WithTimeout(c.ctx, dropTimeout)
			_ = c.store.DeleteBody(ctx, name) // else it expires
			cancel()
		case <-c.ctx.Done():
			return
		}
	}
}

// useless reports whether a request has ended in a way after which nobody reads
// its body any more, and nobody else removes it: a worker removes it itself, a
// dead letter still names it, and of an end on this side the request may go on.
func (a *assembly) useless() bool { return a.byBroker && !a.kept }
