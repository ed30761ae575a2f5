package cli

import (
	"fmt"
	"strconv"

	"github.com/spf13/cobra"
)

type await struct {
	connection
	output
}

func awaitCommand() *cobra.Command {
	var a await
	cmd := &cobra.Command{
		Use:   "await ID",
		Short: "Show the kept result of a request, waiting for it if need be",
		Long: `Show the kept result of a request, waiting for it if need be.

Results of requests that were asked with --stored are kept for an hour unless
the deployment says otherwise. An interrupt stops waiting and leaves the
request alone.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return a.run(cmd, args[0]) },
	}
	a.connection.addFlags(cmd)
	a.output.addFlags(cmd.Flags())
	return cmd
}

func (a *await) run(cmd *cobra.Command, arg string) error {
	a.to(cmd)
	id, err := parseID(arg)
	if err != nil {
		return usage(err)
	}
	c, done, err := a.open(cmd)
	if err != nil {
		return err
	}
	defer done()
	p, err := c.Await(cmd.Context(), id)
	if err != nil {
		return err
	}
	defer p.Close()
	return a.follow(cmd.Context(), p)
}

func parseID(arg string) (uint64, error) {
	id, err := strconv.ParseUint(arg, 10, 64)
	if err != nil || id == 0 {
		return 0, fmt.Errorf("id %q; want the number of a receipt", arg)
	}
	return id, nil
}

func parseIDs(args []string) ([]uint64, error) {
	ids := make([]uint64, 0, len(args))
	for _, arg := range args {
		id, err := parseID(arg)
		if err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, nil
}
