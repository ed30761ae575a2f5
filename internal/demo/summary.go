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
	return fmt.Sprintf("%s\n  %s · %s, %d slots each · %s · %.3g × as fast",
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
	fmt.Fprintf(&b, "\n  %s · %.1f s\n\n", headline(s), took.Seconds())
	writeTable(&b, summaryColumns(), f.Classes, summaryWidth)
	fmt.Fprintf(&b, "\n  %s\n", outcomes(f))
	if d := f.Duel; d != nil {
		fmt.Fprintf(&b, "  %d of the first %d completions were %s\n", d.PremiumInFirst, s.Duel.First, s.Duel.Premium)
		fmt.Fprintf(&b, "  %d %s requests were left when the last %s one completed\n", d.RegularLeft, s.Duel.Regular, s.Duel.Premium)
	}
	b.WriteByte('\n')
	for line := range strings.Lines(legend) {
		fmt.Fprintln(&b, margin+faint().Render(strings.TrimSuffix(line, "\n")))
	}
	_, err := lipgloss.Fprint(w, b.String()) // without colours where there is no terminal
	return err
}

// summaryWidth lets the summary of classes with short names fit 80 columns.
const summaryWidth = 92

const legend = `share  of the tokens handed out while every class queued
due    share by the policy's quanta
ttft   from asking to the first chunk, wait to being handed out; wall clock
`

// outcomes is the account of a run in one line.
func outcomes(f *Figures) string {
	alarm := func(n int, what string) string {
		text := fmt.Sprintf("%s %s", count(n), what)
		if n > 0 {
			return lipgloss.NewStyle().Bold(true).Foreground(lipgloss.Red).Render(text)
		}
		return text
	}
	return strings.Join([]string{
		count(f.Acknowledged) + " acknowledged", count(f.Completed) + " completed", alarm(f.Failed, "failed"),
		alarm(f.Open(), "lost"), alarm(f.Duplicated, "duplicated"),
	}, " · ")
}
