package cli

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"fairlead/sim/tune"
)

func simTuneCommand() *cobra.Command {
	var in simInput
	var cfg tune.Config
	var goals, knobs []string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "tune --policy FILE --trace FILE --goal CLASS:FIGURE<BOUND [--goal …]",
		Short: "Search quanta, thresholds and workers for goals, by simulation",
		Long: `Search quanta, thresholds and workers for goals, by simulation.

The policy that was found is printed on stdout, what it meets, what binds and how
sure that is on stderr. When the goals cannot be met, the nearest policy is printed,
with what is in conflict, and the exit code is 1.

A goal is a class, a figure of fairlead sim run, and a bound:
  premium:ttft_p99<500ms   batch:share>=0.2   regular:refused<=1%`,
		Example: `  fairlead sim tune --policy examples/premium-regular.yaml --trace trace/sample/azure_code_conv.csv --class code=premium,conv=regular --goal premium:ttft_p99<3s`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := tuneInput(&cfg, goals, knobs); err != nil {
				return err
			}
			var err error
			if cfg.Study, err = in.study(); err != nil {
				return err
			}
			return runTune(cmd, cfg, asJSON)
		},
	}
	in.addFlags(cmd.Flags())
	f := cmd.Flags()
	f.Lookup("seeds").DefValue = "5"
	in.seeds = 5
	f.StringVar(&cfg.File, "policy", "", "policy file to begin with")
	f.StringArrayVar(&goals, "goal", nil, "what a class is to meet; may be given again")
	f.StringSliceVar(&knobs, "tune", []string{"quanta", "workers"}, "what may change: quanta, thresholds, workers")
	f.IntVar(&cfg.MaxWorkers, "max-workers", 0, "most workers to try (default: 4 times --workers)")
	f.IntVar(&cfg.MaxPlays, "max-plays", 400, "most settings to play")
	f.IntVar(&cfg.Check, "check-seeds", 0, "fresh seeds to check the result with (default: twice --seeds, at least 10)")
	f.BoolVar(&asJSON, "json", false, "print one line of JSON on stdout")
	return cmd
}

// tuneInput reads what is not about the simulation itself.
func tuneInput(cfg *tune.Config, goals, knobs []string) error {
	if cfg.File == "" {
		return usage(errors.New("--policy: missing; want a policy file to begin with"))
	}
	if len(goals) == 0 {
		return usage(errors.New("--goal: missing; want at least one, such as premium:ttft_p99<500ms"))
	}
	for _, text := range goals {
		g, err := tune.ParseGoal(text)
		if err != nil {
			return usage(fmt.Errorf("--%w", err))
		}
		cfg.Goals = append(cfg.Goals, g)
	}
	for _, knob := range knobs {
		switch knob {
		case "quanta":
			cfg.Quanta = true
		case "thresholds":
			cfg.Thresholds = true
		case "workers":
			cfg.Workers = true
		default:
			return usage(fmt.Errorf("--tune %q: want quanta, thresholds or workers", knob))
		}
	}
	var err error
	if cfg.Text, err = os.ReadFile(cfg.File); err != nil {
		return fmt.Errorf("--policy: %w", err)
	}
	return nil
}

func runTune(cmd *cobra.Command, cfg tune.Config, asJSON bool) error {
	p := newProgress(cmd.ErrOrStderr(), "")
	cfg.Progress = p.play
	r, err := tune.Run(cmd.Context(), cfg)
	p.end()
	if err != nil {
		return err
	}
	if asJSON {
		err = r.WriteJSON(cmd.OutOrStdout())
	} else {
		err = errors.Join(r.WriteText(cmd.ErrOrStderr()), r.WritePolicy(cmd.OutOrStdout()))
	}
	if err == nil && !r.Met {
		err = &exitError{code: codeNoOutcome}
	}
	return err
}
