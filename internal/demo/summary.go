package demo

import (
	"fmt"
	"io"
	"strings"
	"time"

	"charm.land/lipgloss/v2"
)

// headline says what is being run.
func headline(s *Scenario) string {
	f := s.Fleet
	return fmt.Sprintf("%s\n  %s · %s, %d slots each · %s · × %.4g",
		lipgloss.NewStyle().Bold(true).Render(s.Title),
		plural(len(s.Requests), "request"), plural(f.Workers, "mock worker"), f.Slots, plural(s.Frontends, "frontend"), s.Speedup)
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return count(n) + " " + noun + "s"
}

// writeSummary writes the figures of a run that is over, for people.
func writeSummary(w io.Writer, s *Scenario, f *Figures, took time.Duration) error {
	var b strings.Builder
	fmt.Fprintf(&b, "\n  %s\n\n", headline(s))
	writeTable(&b, summaryColumns(), f.Classes)
	fmt.Fprintf(&b, "\n  %s\n", outcomes(f, took))
	if d := f.Duel; d != nil {
		fmt.Fprintf(&b, "  %d of the first %d completions were %s; when the last %s one completed, %d %s were left\n",
			d.PremiumInFirst, s.Duel.First, s.Duel.Premium, s.Duel.Premium, d.RegularLeft, s.Duel.Regular)
	}
	fmt.Fprintf(&b, "\n  %s\n", faint().Render("share: of the tokens handed out while every class queued; due: by the policy's quanta.\n"+
		"  ttft: asked to first chunk; wait: asked to handed out; wall-clock time."))
	_, err := lipgloss.Fprint(w, b.String()) // without colours where there is no terminal
	return err
}

// outcomes is the account of a run in one line.
func outcomes(f *Figures, took time.Duration) string {
	alarm := func(n int, what string) string {
		text := fmt.Sprintf("%s %s", count(n), what)
		if n > 0 {
			return lipgloss.NewStyle().Bold(true).Foreground(lipgloss.Red).Render(text)
		}
		return text
	}
	return strings.Join([]string{
		count(f.Acknowledged) + " acknowledged", count(f.Completed) + " completed", alarm(f.Failed, "failed"),
		alarm(f.Open(), "lost"), alarm(f.Duplicated, "duplicated"), fmt.Sprintf("%.1f s", took.Seconds()),
	}, " · ")
}
