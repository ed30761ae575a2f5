// Package cli is the fairlead command: one file for each of its commands.
// Results go to stdout, everything else to stderr.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"fairlead/internal/daemon"
)

// Streams are where a run of the command reads and writes.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
}

// Root makes the command with all of its subcommands, and those given besides.
func Root(more ...*cobra.Command) *cobra.Command {
	root := group(&cobra.Command{
		Use:   "fairlead",
		Short: "Ask Fairlead for inference, and look after it",
		Long: `Ask Fairlead for inference, and look after it.

Exit codes:
  0    done
  1    no outcome: no connection, no broker, a bad file
  2    the command line is wrong
  3    the request was refused as it is
  4    there was no room or no worker: ask again later
  5    the request failed in its engine or with its worker
  6    the request ran out of time
  130  interrupted, or the request was cancelled`,
		SilenceUsage: true, SilenceErrors: true,
	})
	root.AddCommand(submitCommand(), awaitCommand(), cancelCommand(), statusCommand(), deadCommand(), policyCommand(), recordCommand(), simCommand(), accountsCommand(), daemon.VersionCommand())
	root.AddCommand(more...)
	return root
}

// Run executes the command and returns its exit code. An error is written to
// stderr. When ctx ends the command cancels what it asked for and returns.
func Run(ctx context.Context, root *cobra.Command, args []string, s Streams) int {
	started := false
	root.PersistentPreRun = func(*cobra.Command, []string) { started = true }
	root.SetArgs(args)
	root.SetIn(s.In)
	root.SetOut(s.Out)
	root.SetErr(s.Err)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return codeDone
	}
	var quiet *exitError
	if !errors.As(err, &quiet) || quiet.err != nil {
		fmt.Fprintln(s.Err, "fairlead:", words(err))
	}
	if !started {
		return codeUsage
	}
	return exitCode(err)
}
