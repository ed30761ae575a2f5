package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// want is a check of how many arguments there are, in words: what they are, and
// an example of them. A negative most is no limit.
func want(least, most int, what, example string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) >= least && (most < 0 || len(args) <= most) {
			return nil
		}
		got := "nothing"
		if len(args) > 0 {
			got = fmt.Sprintf("%q", args)
		}
		return fmt.Errorf("%s: want %s, got %s; for example: %s %s", cmd.CommandPath(), what, got, cmd.CommandPath(), example)
	}
}

// group makes a command that only holds others: it shows its help, and for a
// misspelt one what may be meant.
func group(cmd *cobra.Command) *cobra.Command {
	cmd.SuggestionsMinimumDistance = 2
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		err := fmt.Errorf("unknown command %q for %q", args[0], cmd.CommandPath())
		if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
			return fmt.Errorf("%w; do you mean %s", err, strings.Join(near, " or "))
		}
		return fmt.Errorf("%w; %s --help lists those that there are", err, cmd.CommandPath())
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	return cmd
}
