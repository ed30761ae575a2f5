package main

import (
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/mattn/go-isatty"
	"github.com/spf13/cobra"

	"fairlead/internal/demo"
)

// demoCommand shows a whole system at work on this machine.
func demoCommand() *cobra.Command {
	var o demo.Options
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Replay a recorded trace through a whole system on this machine",
		Long: `Replay a recorded trace through a whole system on this machine.

Starts an embedded NATS server in a temporary folder, a broker, mock workers and
frontends, each with a connection of its own, and asks what the scenario says:

  trace            a recorded trace, faster than the workers can take: two minutes
                   of the Azure code and conversation traces, or --trace FILE
  premium-regular  320 + 320 requests of 512 tokens, quanta 512 : 128, and one
                   worker of 4 slots that joins when all are acknowledged
  equal            the same with equal quanta, as a control

A terminal shows a live table, and a summary at the end. With --json the only
thing on stdout is one line of figures, the last one. The exit code is 1 when an
acknowledged request had no outcome, or two.`,
		Example: `  fairlead demo
  fairlead demo --scenario premium-regular --frontends 2 --skew --json
  fairlead demo --trace mooncake_conversation.jsonl --workers 8`,
		Args: func(cmd *cobra.Command, args []string) error {
			if err := cobra.NoArgs(cmd, args); err != nil {
				return err
			}
			return o.Validate()
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := demo.Load(o)
			if err != nil {
				return err
			}
			ctx, restore := signal.NotifyContext(cmd.Context(), syscall.SIGHUP) // a closed terminal leaves nothing behind either
			defer restore()
			out := demo.Output{Stdout: cmd.OutOrStdout(), Stderr: cmd.ErrOrStderr(), JSON: asJSON}
			out.Live = !asJSON && terminal(out.Stdout)
			if in := cmd.InOrStdin(); terminal(in) {
				out.Keys = in
			}
			return demo.Run(ctx, s, out)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.Scenario, "scenario", "", "what to ask: "+strings.Join(demo.Scenarios(), ", ")+" (default "+demo.ScenarioTrace+")")
	f.StringVar(&o.TraceFile, "trace", "", "trace to replay: Azure CSV or Mooncake JSON lines")
	f.IntVar(&o.Requests, "requests", 0, "most requests of a trace to replay, from its start (default 1500)")
	f.StringVar(&o.PolicyFile, "policy", "", "policy file instead of the scenario's own policy")
	f.IntVar(&o.Workers, "workers", 0, "mock workers (default 4; premium-regular and equal 1)")
	f.IntVar(&o.Frontends, "frontends", 0, "frontends that ask, each with a connection of its own (default 1)")
	f.BoolVar(&o.Skew, "skew", false, "let each class enter through a frontend of its own")
	f.Uint64Var(&o.Seed, "seed", 0, "seed of the engines' jitter, and of arrivals on a coarse clock")
	f.Float64Var(&o.Speedup, "speedup", 0, "how many times faster than recorded arrivals and engines run (default: a trace arrives within 6 s)")
	f.BoolVar(&asJSON, "json", false, "print the figures as one line of JSON on stdout, everything else on stderr")
	return cmd
}

// terminal tells whether a stream is one.
func terminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && isatty.IsTerminal(f.Fd())
}
