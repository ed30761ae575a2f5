package cli

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"fairlead/policy"
)

func policyCommand() *cobra.Command {
	cmd := group(&cobra.Command{
		Use:   "policy",
		Short: "Check policy files, and change the policy of running brokers",
	})
	cmd.AddCommand(&cobra.Command{
		Use:   "check FILE…",
		Short: "Check policy files and print what they resolve to",
		Long: `Check policy files and print what they resolve to.

Every error of every file is printed, with its line, its field, and what would
be right; the exit code is then 1. What is legal and surely wrong is a warning.`,
		Args: want(1, -1, "policy files", "policy.yaml"),
		RunE: checkPolicies,
	})
	cmd.AddCommand(policyApplyCommand(), policyHistoryCommand(), policyShowCommand(), policyRestoreCommand(), policyDropCommand(), policyExplainCommand())
	return cmd
}

func checkPolicies(cmd *cobra.Command, files []string) error {
	var bad error
	for _, file := range files {
		if err := checkPolicy(cmd, file); err != nil {
			fmt.Fprintln(cmd.ErrOrStderr(), err)
			bad = &exitError{code: codeNoOutcome}
		}
	}
	return bad
}

// warn says what is legal in a policy and surely wrong.
func warn(cmd *cobra.Command, p *policy.Policy) {
	for _, w := range p.Warnings() {
		fmt.Fprintln(cmd.ErrOrStderr(), "warning:", w)
	}
}

func checkPolicy(cmd *cobra.Command, file string) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	p, err := policy.Parse(file, data)
	if err != nil {
		return err
	}
	warn(cmd, p)
	fmt.Fprintf(cmd.OutOrStdout(), "# %s\n", file)
	return p.WriteTable(cmd.OutOrStdout())
}
