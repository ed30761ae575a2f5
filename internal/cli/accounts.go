package cli

import (
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"fairlead/internal/accounts"
)

func accountsCommand() *cobra.Command {
	var names accounts.Names
	var dir string
	cmd := &cobra.Command{
		Use:   "accounts",
		Short: "Write a NATS configuration that keeps brokers, frontends and agents apart",
		Long: `Write a NATS configuration that keeps brokers, frontends and agents apart.

It makes DIR/accounts.conf, which a nats-server's configuration includes, and for each
name a key: DIR/brokers/NAME.nk, operators/, frontends/, agents/. Keys that are there
are kept, so that it can be run again with more names. Give each program its own file
(--nats-nkey) and its inbox (--nats-inbox-prefix):

  brokers, operators  _INBOX.NAME
  frontends           _INBOX.NAME and --nats-api-prefix ` + accounts.APIPrefix + `
  agents              _AGENT.NAME and --nats-api-prefix ` + accounts.APIPrefix + `

docs/security.md says what this prevents, and what it does not.`,
		Example: `  fairlead accounts --dir nats --broker b1,b2,b3 --operator ann --frontend gw-1 --reader gw-2 --worker gpu-1,gpu-2`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := accounts.Write(dir, names); err != nil {
				return err
			}
			_, err := fmt.Fprintln(cmd.OutOrStdout(), filepath.Join(dir, accounts.ConfigFile))
			return err
		},
	}
	f := cmd.Flags()
	f.StringVar(&dir, "dir", ".", "folder for the configuration and the keys")
	f.StringVar(&names.Namespace, "namespace", "", "namespace of the deployment")
	f.StringSliceVar(&names.Brokers, "broker", nil, "brokers, with commas; at least one")
	f.StringSliceVar(&names.Operators, "operator", nil, "people and programs that may do everything that brokers may")
	f.StringSliceVar(&names.Frontends, "frontend", nil, "programs that ask and hear their own inbox")
	f.StringSliceVar(&names.Readers, "reader", nil, "frontends that may read stored results as well, anybody's")
	f.StringSliceVar(&names.Workers, "worker", nil, "workers, as their agents' --worker says")
	return cmd
}
