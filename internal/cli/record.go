package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"fairlead/internal/recorder"
	"fairlead/wire"
)

func recordCommand() *cobra.Command {
	var conn connection
	var out string
	var limit time.Duration
	cmd := &cobra.Command{
		Use:   "record --out FILE",
		Short: "Write down the traffic of a running broker, for fairlead sim run",
		Long: `Write down the traffic of a running broker, for fairlead sim run.

Recorded is when which class asked for how many tokens, with the headers that decide
what becomes of a request, when it was handed out to whom, and how it ended. No
prompt and no answer is read. docs/simulator.md describes the file.

It records until it is interrupted, or for the time of --for.`,
		Example: `  fairlead record --out monday.jsonl --for 1h
  fairlead sim run --policy next.yaml --trace monday.jsonl --fleet recorded`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case out == "":
				return usage(errors.New("--out: missing; want a new file, or - for stdout"))
			case limit < 0:
				return usage(fmt.Errorf("--for %s; want a positive duration, or 0 until interrupted", limit))
			}
			return record(cmd, &conn, out, limit)
		},
	}
	conn.addFlags(cmd)
	cmd.Flags().StringVar(&out, "out", "", "file to write, which must not exist; - is stdout")
	cmd.Flags().DurationVar(&limit, "for", 0, "end after this time; 0 when interrupted")
	return cmd
}

func record(cmd *cobra.Command, conn *connection, out string, limit time.Duration) error {
	st, err := conn.store(cmd, wire.Names.StreamREQ)
	if err != nil {
		return err
	}
	defer st.NC.Close()
	file, end, err := create(cmd, out)
	if err != nil {
		return err
	}
	ctx := cmd.Context()
	if limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, limit)
		defer cancel()
	}
	n, err := recorder.Run(ctx, recorder.Config{
		Store: st, Out: file, Rules: wire.Rules{Names: st.Names},
		Ready: func() { fmt.Fprintln(cmd.ErrOrStderr(), "recording") },
	})
	err = errors.Join(err, end())
	fmt.Fprintf(cmd.ErrOrStderr(), "%d requests recorded, %d of them open\n", n.Written, n.Open)
	if n.Breaks > 0 {
		fmt.Fprintf(cmd.ErrOrStderr(), "the connection broke %d times: what was handed out or ended meanwhile is missing\n", n.Breaks)
	}
	if n.Unreadable > 0 {
		fmt.Fprintf(cmd.ErrOrStderr(), "%d more left out, because their headers cannot be read\n", n.Unreadable)
	}
	if n.Missed > 0 {
		fmt.Fprintf(cmd.ErrOrStderr(), "%d more came and went before they could be read\n", n.Missed)
	}
	return err
}

// create opens the file to write. The caller ends it.
func create(cmd *cobra.Command, out string) (w io.Writer, end func() error, err error) {
	if out == "-" {
		return cmd.OutOrStdout(), func() error { return nil }, nil
	}
	f, err := os.OpenFile(out, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return nil, nil, fmt.Errorf("--out: %w", err)
	}
	return f, f.Close, nil
}
