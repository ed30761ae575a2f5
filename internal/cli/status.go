package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"fairlead/client"
	"fairlead/wire"
)

type status struct {
	connection
	json  bool
	wide  bool
	watch time.Duration
}

func statusCommand() *cobra.Command {
	var s status
	cmd := &cobra.Command{
		Use:   "status [ID…]",
		Short: "Show classes and workers, or where requests are",
		RunE:  s.run,
	}
	s.addFlags(cmd)
	cmd.Flags().BoolVar(&s.json, "json", false, "print the leader's answer as one line of JSON")
	cmd.Flags().BoolVar(&s.wide, "wide", false, "show more of the classes than 80 columns hold")
	cmd.Flags().DurationVarP(&s.watch, "watch", "w", 0, "show it again every so often, until interrupted; 0 once")
	return cmd
}

func (s *status) run(cmd *cobra.Command, args []string) error {
	ids, err := parseIDs(args)
	if err != nil {
		return usage(err)
	}
	if s.watch < 0 {
		return usage(fmt.Errorf("--watch %v; want a positive duration", s.watch))
	}
	c, done, err := s.open(cmd)
	if err != nil {
		return err
	}
	defer done()
	if s.watch == 0 {
		return s.show(cmd.Context(), c, cmd.OutOrStdout(), ids)
	}
	return s.repeat(cmd, c, ids)
}

// repeat shows the state until the command is interrupted, which is its end.
func (s *status) repeat(cmd *cobra.Command, c *client.Client, ids []uint64) error {
	ticker := time.NewTicker(s.watch)
	defer ticker.Stop()
	for {
		if !s.json {
			fmt.Fprint(cmd.OutOrStdout(), clearScreen)
		}
		if err := s.show(cmd.Context(), c, cmd.OutOrStdout(), ids); err != nil && cmd.Context().Err() == nil {
			fmt.Fprintln(cmd.ErrOrStderr(), "fairlead:", err) // a leader may come
		}
		select {
		case <-ticker.C:
		case <-cmd.Context().Done():
			return nil
		}
	}
}

// clearScreen is the terminal's own.
const clearScreen = "\x1b[H\x1b[2J"

func (s *status) show(ctx context.Context, c *client.Client, w io.Writer, ids []uint64) error {
	st, err := c.Status(ctx, ids...)
	if err != nil {
		return err
	}
	if s.json {
		return json.NewEncoder(w).Encode(st)
	}
	if len(ids) > 0 {
		return writeRequests(w, st.Requests)
	}
	return writeStatus(w, st, s.wide)
}

// writePolicy says which policy is in force, and of which one that cannot be said.
func writePolicy(w io.Writer, p wire.PolicyStatus) {
	fmt.Fprintf(w, "policy: %s\n", inForce(p))
	if p.Refused != 0 {
		fmt.Fprintf(w, "version %d is stored and cannot be served by this leader: %s\n", p.Refused, p.Error)
	}
	fmt.Fprintln(w)
}

// writeStatus writes tables for people.
func writeStatus(w io.Writer, st wire.BrokerStatus, wide bool) error {
	recovering := ""
	if !st.Recovered {
		recovering = ", still reading what its predecessor left"
	}
	fmt.Fprintf(w, "leader %s, epoch %d%s\n", st.Leader, st.Epoch, recovering)
	writePolicy(w, st.Policy)
	write := writeClasses
	if wide {
		write = writeWideClasses
	}
	if err := write(w, slices.DeleteFunc(st.Classes, empty)); err != nil {
		return err
	}
	fmt.Fprintln(w)
	return writeWorkers(w, st.Workers)
}
