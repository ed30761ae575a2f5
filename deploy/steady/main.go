// Command steady asks at a steady rate and keeps a ledger: every request that the store
// acknowledged must have an outcome in the end, whatever was broken meanwhile. It is
// the load of .ci/compose.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/spf13/cobra"

	"fairlead/client"
	"fairlead/internal/access"
	"fairlead/internal/daemon"
)

// settings are what the flags say.
type settings struct {
	access.Access
	natsURL  string
	web      []string
	classes  []string
	rate     float64
	patience time.Duration
}

func main() {
	if err := command().ExecuteContext(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "steady:", err)
		os.Exit(1)
	}
}

func command() *cobra.Command {
	var s settings
	cmd := &cobra.Command{
		Use: "steady", Short: "Ask at a steady rate until SIGTERM, then count the outcomes", Args: cobra.NoArgs,
		SilenceUsage: true, SilenceErrors: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := daemon.Load(cmd.Flags()); err != nil {
				return err
			}
			stop, release := signal.NotifyContext(cmd.Context(), syscall.SIGTERM, os.Interrupt)
			defer release()
			sum, err := s.run(stop)
			if err != nil {
				return err
			}
			if err := json.NewEncoder(cmd.OutOrStdout()).Encode(sum); err != nil {
				return fmt.Errorf("write the summary: %w", err)
			}
			return sum.verdict()
		},
	}
	f := cmd.Flags()
	f.StringVar(&s.natsURL, "nats-url", nats.DefaultURL, "NATS servers, separated by commas")
	s.AddFlags(f)
	f.StringSliceVar(&s.web, "http", nil, "gateways to ask over HTTP, instead of NATS")
	f.StringSliceVar(&s.classes, "class", []string{"premium", "regular"}, "classes to ask in, in turns")
	f.Float64Var(&s.rate, "rate", 40, "requests a second")
	f.DurationVar(&s.patience, "patience", 2*time.Minute, "how long outcomes may take after the last request")
	return cmd
}

// run asks until stop ends and returns the count of outcomes.
func (s *settings) run(stop context.Context) (summary, error) {
	if s.rate <= 0 || len(s.classes) == 0 {
		return summary{}, fmt.Errorf("--rate %v, --class %v: want a positive rate and a class", s.rate, s.classes)
	}
	if len(s.web) > 0 {
		return s.overHTTP(stop), nil
	}
	opts, err := s.Options()
	if err != nil {
		return summary{}, err
	}
	opts = append(opts, nats.RetryOnFailedConnect(true))
	c, err := client.Connect(s.natsURL, client.Config{APIPrefix: s.APIPrefix, Options: opts})
	if err != nil {
		return summary{}, err
	}
	defer c.Close()
	return s.overNATS(stop, c), nil
}

// ticks calls do with numbers from 0, at the rate, until stop ends.
func (s *settings) ticks(stop context.Context, do func(n int)) {
	pace := time.NewTicker(time.Duration(float64(time.Second) / s.rate))
	defer pace.Stop()
	for n := 0; ; n++ {
		select {
		case <-stop.Done():
			return
		case <-pace.C:
			do(n)
		}
	}
}
