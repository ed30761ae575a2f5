package cli

import (
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"fairlead/client"
	"fairlead/internal/access"
	"fairlead/internal/daemon"
	"fairlead/internal/store"
	"fairlead/wire"
)

// connection is where a command finds Fairlead: flag, else environment, else
// default.
type connection struct {
	access.Access
	url, namespace string
	patience       time.Duration // with a server, and then a broker, that is not there yet; 0 tries once
	flags          *pflag.FlagSet
}

// defaultPatience covers starting everything at once, and a restart.
const defaultPatience = 5 * time.Second

func (c *connection) addFlags(cmd *cobra.Command) {
	c.flags = pflag.NewFlagSet("connection", pflag.ContinueOnError)
	c.flags.StringVar(&c.url, "nats-url", nats.DefaultURL, "NATS server, several with commas (FAIRLEAD_NATS_URL)")
	c.flags.StringVar(&c.namespace, "namespace", "", "namespace of the deployment (FAIRLEAD_NAMESPACE)")
	c.AddFlags(c.flags)
	c.flags.StringVar(&c.Creds, "creds", "", "older name of --nats-creds")
	hidden(c.flags, "creds")
	c.flags.DurationVar(&c.patience, "connect-timeout", defaultPatience, "how long to try while NATS is not there yet; 0 once (FAIRLEAD_CONNECT_TIMEOUT)")
	cmd.Flags().AddFlagSet(c.flags)
}

// connect opens a bare connection, for what a client does not do. The caller
// closes it.
func (c *connection) connect(cmd *cobra.Command) (*nats.Conn, wire.Names, error) {
	if err := daemon.Load(c.flags); err != nil {
		return nil, wire.Names{}, usage(err)
	}
	if c.patience < 0 {
		return nil, wire.Names{}, usage(fmt.Errorf("--connect-timeout %v; want a positive duration, or 0 to try once", c.patience))
	}
	names, err := wire.NewNames(c.namespace)
	if err != nil {
		return nil, wire.Names{}, usage(err)
	}
	opts, err := c.Options()
	if err != nil {
		return nil, wire.Names{}, usage(err)
	}
	nc, err := c.dial(cmd, opts)
	if err != nil {
		return nil, wire.Names{}, fmt.Errorf("connect to %s: %w", daemon.Redact(c.url), err)
	}
	return nc, names, nil
}

// open connects a client. The caller calls done in the end.
func (c *connection) open(cmd *cobra.Command) (cl *client.Client, done func(), err error) {
	nc, _, err := c.connect(cmd)
	if err != nil {
		return nil, nil, err
	}
	cl, err = client.New(nc, client.Config{Namespace: c.namespace, APIPrefix: c.APIPrefix})
	if err != nil {
		nc.Close()
		return nil, nil, err
	}
	return cl, func() { cl.Close(); nc.Close() }, nil
}

// store opens the streams, once the one that is asked for is there. The caller
// closes the connection.
func (c *connection) store(cmd *cobra.Command, stream func(wire.Names) string) (*store.Store, error) {
	nc, names, err := c.connect(cmd)
	if err != nil {
		return nil, err
	}
	st, err := store.OpenAs(nc, names, c.APIPrefix)
	if err == nil {
		err = c.patiently(cmd, "a broker", func() (bool, error) {
			_, err := st.Range(cmd.Context(), stream(names))
			return brokerless(err), err
		})
	}
	if brokerless(err) {
		err = fmt.Errorf("%w; a broker makes the stream %s when it starts: is one running, and is the namespace right, or lacks its cluster a majority", err, stream(names))
	}
	if err != nil {
		nc.Close()
		return nil, err
	}
	return st, nil
}

// hidden leaves a flag out of the help.
func hidden(f *pflag.FlagSet, name string) {
	if err := f.MarkHidden(name); err != nil {
		panic(err) // a flag of ours
	}
}
