package cli

import (
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"syscall"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/spf13/cobra"

	"fairlead/internal/daemon"
	"fairlead/internal/store"
)

// dial connects, and tries again while the server is not there.
func (c *connection) dial(cmd *cobra.Command, access []nats.Option) (nc *nats.Conn, err error) {
	d := &dialer{net: net.Dialer{Timeout: nats.DefaultTimeout}}
	opts := append(store.Reconnect("fairlead command"), nats.RetryOnFailedConnect(false), nats.SetCustomDialer(d))
	opts = append(opts, access...)
	err = c.patiently(cmd, daemon.Redact(c.url), func() (again bool, err error) {
		nc, err = nats.Connect(c.url, opts...)
		return away(err), d.explain(err)
	})
	return nc, err
}

// away reports that a server may be there in a moment. What one refuses stays
// refused.
func away(err error) bool {
	var op *net.OpError
	return errors.Is(err, nats.ErrNoServers) || errors.Is(err, nats.ErrTimeout) || errors.Is(err, nats.ErrConnectionClosed) ||
		errors.Is(err, io.EOF) || errors.As(err, &op)
}

// brokerless reports that nothing answers for a stream, or for the leader.
func brokerless(err error) bool {
	return errors.Is(err, jetstream.ErrStreamNotFound) || errors.Is(err, jetstream.ErrNoStreamResponse) ||
		errors.Is(err, jetstream.ErrJetStreamNotEnabled) || errors.Is(err, nats.ErrNoResponders)
}

// retryPause is between two tries.
const retryPause = 100 * time.Millisecond

// patiently tries until it works, fails for good, or patience ends. It says once
// what it waits for, and why.
func (c *connection) patiently(cmd *cobra.Command, what string, try func() (again bool, err error)) error {
	said := false
	once := func() (struct{}, error) {
		again, err := try()
		if err == nil {
			return struct{}{}, nil
		}
		if !again || c.patience == 0 {
			return struct{}{}, backoff.Permanent(err)
		}
		if !said {
			said = true
			fmt.Fprintf(cmd.ErrOrStderr(), "waiting for %s: %v\n", what, err)
		}
		return struct{}{}, err
	}
	_, err := backoff.Retry(cmd.Context(), once,
		backoff.WithBackOff(backoff.NewConstantBackOff(retryPause)), backoff.WithMaxElapsedTime(c.patience))
	return err
}

// dialer remembers why it failed last, which the connection does not tell.
type dialer struct {
	net net.Dialer

	mu   sync.Mutex // guards last
	last error
}

// Dial is net.Dialer's.
func (d *dialer) Dial(network, address string) (net.Conn, error) {
	conn, err := d.net.Dial(network, address)
	if err != nil {
		d.mu.Lock()
		d.last = err
		d.mu.Unlock()
	}
	return conn, err
}

// explain is the cause of an error of connecting, in few words.
func (d *dialer) explain(err error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if errors.Is(err, nats.ErrNoServers) && d.last != nil {
		err = d.last
	}
	var cause syscall.Errno
	if errors.As(err, &cause) {
		return cause
	}
	return err
}
