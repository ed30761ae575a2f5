package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/spf13/cobra"

	"fairlead/sim/figures"
)

type simFigures struct {
	figures.Options
	out, docs, traces string
}

func simFiguresCommand() *cobra.Command {
	var s simFigures
	cmd := &cobra.Command{
		Use:   "figures",
		Short: "Repeat the experiments of a queueing primer, and say which of its claims hold",
		Long: `Repeat the experiments of a queueing primer, and say which of its claims hold.

Figures 1 to 8 are the primer's: the objective against load, who waits, the tail, noisy
sizes, placement, the ratio of quanta, the order inside a class, and the wait by length.
Figures 9 to 11 are ours: exact against literal DRR, tenants, and charging what was used.
Each is written as SVG, PNG and CSV. The rulings are printed; docs/experiments.md has them
with the rules. One seed is one stream of requests; the same seeds give the same files.`,
		Args: want(0, 0, "no arguments", "--only 4"),
		RunE: s.run,
	}
	f := cmd.Flags()
	f.StringVarP(&s.out, "out", "o", "figures", "folder that the figures are written to")
	f.StringVar(&s.docs, "docs", "", "folder of experiments.md, to be written anew with its figures; takes all of them")
	f.StringVar(&s.traces, "traces", "", "folder with whole traces: azure_code.csv, azure_conv.csv, mooncake_conversation.jsonl")
	f.IntVar(&s.Seeds, "seeds", figures.DefaultSeeds, "streams of requests of each experiment, at least 20")
	f.IntVar(&s.Requests, "requests", figures.DefaultRequests, "requests of a stream, at least 6000")
	f.StringSliceVar(&s.Only, "only", nil, "numbers of figures, with commas")
	return cmd
}

func (s *simFigures) run(cmd *cobra.Command, _ []string) error {
	if s.docs != "" && len(s.Only) > 0 {
		return usage(errors.New("--docs and --only; the page shows every figure, want one of them"))
	}
	if err := s.Check(); err != nil {
		return usage(err)
	}
	if err := s.readTraces(cmd.ErrOrStderr()); err != nil {
		return err
	}
	s.Progress = func(done, all int, title string) {
		if done < all {
			fmt.Fprintf(cmd.ErrOrStderr(), "%d of %d: %s\n", done+1, all, title)
		}
	}
	report, err := figures.Run(cmd.Context(), s.Options)
	if err != nil {
		return err
	}
	if err := report.WriteFiles(s.out); err != nil {
		return err
	}
	if s.docs != "" {
		if err := report.WriteDocs(s.docs); err != nil {
			return err
		}
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "figures are in %s\n", s.out)
	return writeRulings(cmd.OutOrStdout(), report)
}

// readTraces takes whole traces where they are, else the slices that are shipped, and says so.
func (s *simFigures) readTraces(errs io.Writer) error {
	if s.traces == "" {
		return nil
	}
	traces, err := figures.ReadTraces(s.traces)
	if errors.Is(err, fs.ErrNotExist) {
		fmt.Fprintf(errs, "no whole traces, so the shipped slices are taken: %v\n", err)
		return nil
	}
	s.Traces = traces
	return err
}

func writeRulings(w io.Writer, report *figures.Report) error {
	t := newTable(w, "CLAIM", "PUBLISHED", "SEEN", "CLOSED FORM", "RULING")
	for _, f := range report.Figures {
		for _, v := range f.Verdicts {
			row(t, v.ID, v.Published, v.Seen, v.Theory, v.Ruling)
		}
	}
	return t.Flush()
}
