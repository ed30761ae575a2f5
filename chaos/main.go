// Command chaos breaks a whole Fairlead, again and again, and checks that its
// promises hold: a three-node NATS cluster, three brokers, four agents as child
// processes, frontends that ask all kinds of requests, and a seeded schedule of
// faults. See docs/reliability.md.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"fairlead/chaos/rig"
)

func main() {
	if err := command().Execute(); err != nil {
		fmt.Fprintln(os.Stderr, "chaos:", err)
		os.Exit(1)
	}
}

func command() *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:   "chaos",
		Short: "Break a whole Fairlead again and again, and check that its promises hold",
		Args:  cobra.NoArgs, SilenceUsage: true, SilenceErrors: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.check(); err != nil {
				return err
			}
			ctx, release := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
			defer release()
			_, err := chaos(ctx, o, cmd.OutOrStdout())
			return err
		},
	}
	cmd.SetContext(context.Background())
	f := cmd.Flags()
	f.IntVar(&o.faults, "faults", 40, "how many faults to inject")
	f.Uint64Var(&o.seed, "seed", uint64(time.Now().UnixNano()%1e6), "seed of schedule and load; the same one is the same schedule")
	f.Float64Var(&o.rate, "rate", 30, "requests per second")
	f.DurationVar(&o.every, "every", 4*time.Second, "time from one fault to the next, on average")
	f.StringVar(&o.dir, "dir", "", "folder for stores and logs (default: a new one, removed when all is well)")
	f.BoolVar(&o.keep, "keep", false, "keep the folder also when all is well")
	f.BoolVar(&o.race, "race", false, "build the daemons with the race detector")
	cmd.AddCommand(nodeCommand())
	return cmd
}

// nodeCommand is what the program runs itself as, for each node of NATS.
func nodeCommand() *cobra.Command {
	return &cobra.Command{
		Use: rig.NodeCommand, Hidden: true,
		RunE: func(_ *cobra.Command, args []string) error {
			n, err := rig.ParseNode(args)
			if err != nil {
				return err
			}
			return n.Run()
		},
	}
}

func (o options) check() error {
	var errs []error
	if o.faults < 0 {
		errs = append(errs, fmt.Errorf("--faults is %d: want 0 or more", o.faults))
	}
	if !(o.rate > 0 && o.rate <= 1000) {
		errs = append(errs, fmt.Errorf("--rate is %v: want more than 0 and at most 1000", o.rate))
	}
	if o.every < 100*time.Millisecond {
		errs = append(errs, fmt.Errorf("--every is %v: want at least 100ms", o.every))
	}
	return errors.Join(errs...)
}
