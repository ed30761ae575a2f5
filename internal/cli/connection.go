package cli

import (
	"fmt"

	"github.com/nats-io/nats.go"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"fairlead/client"
	"fairlead/internal/daemon"
	"fairlead/internal/store"
	"fairlead/wire"
)

// connection is where a command finds Fairlead: flag, else environment, else
// default.
type connection struct {
	url, namespace, creds string
	flags                 *pflag.FlagSet
}

func (c *connection) addFlags(cmd *cobra.Command) {
	c.flags = pflag.NewFlagSet("connection", pflag.ContinueOnError)
	c.flags.StringVar(&c.url, "nats-url", nats.DefaultURL, "NATS server, several with commas (FAIRLEAD_NATS_URL)")
	c.flags.StringVar(&c.namespace, "namespace", "", "namespace of the deployment (FAIRLEAD_NAMESPACE)")
	c.flags.StringVar(&c.creds, "creds", "", "file of NATS credentials (FAIRLEAD_CREDS)")
	cmd.Flags().AddFlagSet(c.flags)
}

// connect opens a bare connection, for what a client does not do. The caller
// closes it.
func (c *connection) connect() (*nats.Conn, wire.Names, error) {
	if err := daemon.Load(c.flags); err != nil {
		return nil, wire.Names{}, usage(err)
	}
	names, err := wire.NewNames(c.namespace)
	if err != nil {
		return nil, wire.Names{}, usage(err)
	}
	opts := append(store.Reconnect("fairlead command"), nats.RetryOnFailedConnect(false))
	if c.creds != "" {
		opts = append(opts, nats.UserCredentials(c.creds))
	}
	nc, err := nats.Connect(c.url, opts...)
	if err != nil {
		return nil, wire.Names{}, fmt.Errorf("connect to %s: %w", daemon.Redact(c.url), err)
	}
	return nc, names, nil
}

// open connects. The caller closes the client.
func (c *connection) open() (*client.Client, error) {
	if err := daemon.Load(c.flags); err != nil {
		return nil, usage(err)
	}
	cfg := client.Config{Namespace: c.namespace, Options: []nats.Option{nats.Name("fairlead command")}}
	if c.creds != "" {
		cfg.Options = append(cfg.Options, nats.UserCredentials(c.creds))
	}
	return client.Connect(c.url, cfg)
}
