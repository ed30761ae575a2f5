package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"fairlead/internal/deadletter"
	"fairlead/wire"
)

// dead is what the commands about dead letters share: where they are, and which.
type dead struct {
	connection
	json   bool
	all    bool
	older  time.Duration
	filter deadletter.Filter
	reason string
}

func deadCommand() *cobra.Command {
	cmd := group(&cobra.Command{
		Use:   "dead",
		Short: "Look after the requests that were given up",
	})
	cmd.AddCommand(deadListCommand(), deadShowCommand(), deadRedriveCommand(), deadPurgeCommand())
	return cmd
}

func (d *dead) addFilter(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVarP(&d.filter.Class, "class", "c", "", "only of this class")
	f.StringVar(&d.reason, "reason", "", "only given up for this reason")
	f.StringVar(&d.filter.Worker, "worker", "", "only those whose last worker was this one")
	f.StringVar(&d.filter.Tenant, "tenant", "", "only of this tenant")
	f.DurationVar(&d.older, "older-than", 0, "only given up longer ago than this")
}

func (d *dead) open(cmd *cobra.Command) (deadletter.Box, func(), error) {
	if _, known := wire.Reasons()[wire.Reason(d.reason)]; d.reason != "" && !known {
		return deadletter.Box{}, nil, usage(fmt.Errorf("--reason %q; want one of %v", d.reason, slices.Sorted(maps.Keys(wire.Reasons()))))
	}
	d.filter.Reason = wire.Reason(d.reason)
	if d.older > 0 {
		d.filter.Before = time.Now().Add(-d.older)
	}
	st, err := d.store(cmd, wire.Names.StreamDEAD)
	if err != nil {
		return deadletter.Box{}, nil, err
	}
	return deadletter.Box{Store: st}, st.NC.Close, nil
}

// none says that a filter picks nothing, where a script does not read it.
func none(cmd *cobra.Command) { fmt.Fprintln(cmd.ErrOrStderr(), "none") }

func deadListCommand() *cobra.Command {
	var d dead
	cmd := &cobra.Command{Use: "list", Short: "List dead letters, oldest first", Args: cobra.NoArgs}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		box, done, err := d.open(cmd)
		if err != nil {
			return err
		}
		defer done()
		t := newTable(cmd.OutOrStdout(), "ID", "GIVEN UP", "CLASS", "REASON", "ATTEMPTS", "WORKER", "TENANT", "BYTES", "DETAIL")
		n := 0
		for l, err := range box.All(cmd.Context(), d.filter) {
			if err != nil {
				return err
			}
			n++
			if d.json {
				if err := json.NewEncoder(cmd.OutOrStdout()).Encode(l); err != nil {
					return err
				}
				continue
			}
			row(t, l.ID, ago(time.Since(l.At).Milliseconds())+" ago", l.Class, l.Reason, l.Attempts, l.Worker, l.Tenant, len(l.Body), l.Detail)
		}
		if n == 0 {
			none(cmd)
		}
		if d.json || n == 0 {
			return nil
		}
		return t.Flush()
	}
	d.addFlags(cmd)
	d.addFilter(cmd)
	cmd.Flags().BoolVar(&d.json, "json", false, "print a line of JSON for each")
	return cmd
}

func deadShowCommand() *cobra.Command {
	var d dead
	cmd := &cobra.Command{
		Use: "show ID", Short: "Show a dead letter: headers on stderr, body on stdout", Args: want(1, 1, "one request id", exampleID),
		RunE: func(cmd *cobra.Command, args []string) error {
			return d.each(cmd, args, func(_ deadletter.Box, l deadletter.Letter) error {
				w := cmd.ErrOrStderr()
				fmt.Fprintf(w, "request %d on %s, given up %s after %d attempts, the last on %s\n%s: %s\n",
					l.ID, l.Subject, l.At.Format(time.RFC3339), l.Attempts, l.Worker, l.Reason, l.Detail)
				for _, key := range slices.Sorted(maps.Keys(l.Header)) {
					fmt.Fprintf(w, "%s: %s\n", key, l.Header.Get(key))
				}
				_, err := fmt.Fprintf(cmd.OutOrStdout(), "%s\n", l.Body)
				return err
			})
		},
	}
	d.addFlags(cmd)
	return cmd
}

func deadRedriveCommand() *cobra.Command {
	var d dead
	cmd := &cobra.Command{
		Use: "redrive [ID…]", Short: "Ask for given-up requests again, by id or by filter",
		Long: `Ask for given-up requests again, by id or by filter.

Prints the old id and the new one of each. Results are kept for "fairlead await".`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return d.each(cmd, args, func(box deadletter.Box, l deadletter.Letter) error {
				id, err := box.Redrive(cmd.Context(), l)
				if id != 0 {
					fmt.Fprintf(cmd.OutOrStdout(), "%d %d\n", l.ID, id)
				}
				return err
			})
		},
	}
	d.addFlags(cmd)
	d.addFilter(cmd)
	cmd.Flags().BoolVar(&d.all, "all", false, "all that the filter picks")
	return cmd
}

func deadPurgeCommand() *cobra.Command {
	var d dead
	cmd := &cobra.Command{
		Use: "purge [ID…]", Short: "Throw given-up requests away, by id or by filter",
		RunE: func(cmd *cobra.Command, args []string) error {
			return d.each(cmd, args, func(box deadletter.Box, l deadletter.Letter) error {
				err := box.Remove(cmd.Context(), l)
				if err == nil {
					fmt.Fprintln(cmd.OutOrStdout(), l.ID)
				}
				return err
			})
		},
	}
	d.addFlags(cmd)
	d.addFilter(cmd)
	cmd.Flags().BoolVar(&d.all, "all", false, "all that the filter picks")
	return cmd
}

// each does something with the letters that are named, or with --all that the
// filter picks. An id without a letter is an error, after the others are done.
func (d *dead) each(cmd *cobra.Command, args []string, do func(deadletter.Box, deadletter.Letter) error) error {
	ids, err := parseIDs(args)
	if err != nil {
		return usage(err)
	}
	if d.all == (len(ids) > 0) {
		return usage(errors.New("want request ids, such as " + exampleID + ", or --all, and not both"))
	}
	box, done, err := d.open(cmd)
	if err != nil {
		return err
	}
	defer done()
	if d.all {
		ids = []uint64{0} // any
	}
	var errs []error
	for _, id := range ids {
		d.filter.ID = id
		n, err := d.forAll(cmd, box, do)
		if n == 0 && err == nil && id != 0 {
			err = &exitError{codeRefused, fmt.Errorf("request %d is not among the dead letters", id)}
		}
		if n == 0 && err == nil {
			none(cmd)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

func (d *dead) forAll(cmd *cobra.Command, box deadletter.Box, do func(deadletter.Box, deadletter.Letter) error) (n int, err error) {
	for l, err := range box.All(cmd.Context(), d.filter) {
		if err == nil {
			err = do(box, l)
		}
		if err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}
