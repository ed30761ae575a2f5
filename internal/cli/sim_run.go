package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"fairlead/sim/whatif"
	"fairlead/sim/whatif/chart"
)

func simRunCommand() *cobra.Command {
	var in simInput
	var policyFile, compare, plots string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "run --policy FILE --trace FILE [--trace FILE…] [--workers N …]",
		Short: "Play recorded traffic through a policy and a fleet, in virtual time",
		Long: `Play recorded traffic through a policy and a fleet, in virtual time.

The broker's own decisions are made for every request; engines are modelled.
Reported are, by class and by tenant, the share of tokens against what the policy
entitles to, waits, times to the first token, refusals and missed deadlines, and
how busy the workers were. docs/simulator.md explains the model and every figure.`,
		Example: `  fairlead sim run --policy examples/premium-regular.yaml --trace trace/sample/azure_code_conv.csv --class code=premium,conv=regular --workers 2
  fairlead sim run --policy now.yaml --compare next.yaml --trace recording.jsonl --fleet recorded --seeds 20`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := in.study()
			if err != nil {
				return err
			}
			if s.Policies, err = readPolicies(policyFile, compare); err != nil {
				return err
			}
			return runStudy(cmd, s, asJSON, plots)
		},
	}
	in.addFlags(cmd.Flags())
	cmd.Flags().StringVar(&policyFile, "policy", "", "policy file; needed")
	cmd.Flags().StringVar(&compare, "compare", "", "another policy file, to be put beside the first")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one line of JSON")
	cmd.Flags().StringVar(&plots, "plot", "", "folder for charts of the first seed, as SVG and PNG")
	return cmd
}

// readPolicies reads the policy and the one to compare it with, if any.
func readPolicies(first, second string) ([]whatif.Policy, error) {
	if first == "" {
		return nil, usage(errors.New("--policy: missing; want a policy file"))
	}
	p, err := loadPolicy(first)
	if err != nil {
		return nil, fmt.Errorf("--policy: %w", err)
	}
	if second == "" {
		return []whatif.Policy{p}, nil
	}
	q, err := loadPolicy(second)
	if err != nil {
		return nil, fmt.Errorf("--compare: %w", err)
	}
	return []whatif.Policy{p, q}, nil
}

func runStudy(cmd *cobra.Command, s *whatif.Study, asJSON bool, plots string) error {
	var backlog *chart.Backlog
	if plots != "" {
		backlog = chart.Watch(s)
	}
	p := newProgress(cmd.ErrOrStderr(), "simulating")
	s.Progress = p.at
	report, err := s.Run(cmd.Context())
	p.end()
	if err != nil {
		return err
	}
	if plots != "" {
		if err := chart.Write(plots, report, backlog); err != nil {
			return err
		}
	}
	if asJSON {
		return report.WriteJSON(cmd.OutOrStdout())
	}
	return report.WriteText(cmd.OutOrStdout())
}
