package cli

import "github.com/spf13/cobra"

func simCommand() *cobra.Command {
	cmd := group(&cobra.Command{
		Use:   "sim",
		Short: "Simulate policies, before they go live",
	})
	cmd.AddCommand(simRunCommand(), simTuneCommand(), simFiguresCommand())
	return cmd
}
