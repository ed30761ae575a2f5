package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"fairlead/client"
	"fairlead/wire"
)

func cancelCommand() *cobra.Command {
	var conn connection
	cmd := &cobra.Command{
		Use:   "cancel ID…",
		Short: "Cancel requests, queued or running",
		Long: `Cancel requests, queued or running.

Prints what each was: found (and cancelled for good), done (it had ended), or
unknown. The exit code is 3 when there was one that could not be cancelled.`,
		Args: want(1, -1, "request ids", exampleID),
		RunE: func(cmd *cobra.Command, args []string) error {
			ids, err := parseIDs(args)
			if err != nil {
				return usage(err)
			}
			c, done, err := conn.open(cmd)
			if err != nil {
				return err
			}
			defer done()
			return cancelAll(cmd, c, ids)
		},
	}
	conn.addFlags(cmd)
	return cmd
}

func cancelAll(cmd *cobra.Command, c *client.Client, ids []uint64) error {
	var missed error
	var errs []error
	for _, id := range ids {
		outcome, err := c.Cancel(cmd.Context(), id)
		if err != nil {
			errs = append(errs, err)
			if errors.Is(err, context.Canceled) {
				break
			}
			continue
		}
		fmt.Fprintf(cmd.OutOrStdout(), "%d %s\n", id, outcome)
		if outcome != wire.CancelFound {
			missed = &exitError{code: codeRefused}
		}
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	return missed
}
