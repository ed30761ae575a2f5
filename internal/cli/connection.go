package cli

import (
	"github.com/nats-io/nats.go"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"fairlead/client"
	"fairlead/internal/daemon"
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
