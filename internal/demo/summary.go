package demo

import (
	"fmt"
	"io"
	"strings"
	"time"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"
)

// headline says what is being run, and more, in lines of at most room characters.
func headline(s *Scenario, room int, more ...string) string {
	f := s.Fleet
	facts := append([]string{
		plural(len(s.Requests), "request"), plural(f.Workers, "mock worker") + " of " + plural(f.Slots, "slot"),
		plural(s.Frontends, "frontend"), fmt.Sprintf("%.3g × speed", s.Speedup),
	}, more...)
	title := ansi.Truncate(s.Title, room-len(margin), "…")
	return margin + lipgloss.NewStyle().Bold(true).Render(title) + "\n" + listed(facts, room)
}

// listed writes facts beside each other, in lines of at most room characters.
func listed(facts []string, room int) string {
	var b strings.Builder
	b.WriteString(margin + facts[0])
	used := len(margin) + lipgloss.Width(facts[0])
	for _, fact := range facts[1:] {
		if used += len(between) - 1 + lipgloss.Width(fact); used <= room {
			b.WriteString(between + fact)
			continue
		}
		b.WriteString("\n" + margin + fact)
		used = len(margin) + lipgloss.Width(fact)
	}
	return b.String()
}

const between = " · " // three characters in four bytes

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return count(n) + " " + noun + "s"
}

// writeSummary writes the figures of a run that is over, for people.
func writeSummary(w io.Writer, s *Scenario, f *Figures, took time.Duration) error {
	var b strings.Builder
	fmt.Fprintf(&b, "\n%s\n\n", headline(s, summaryWidth, fmt.Sprintf("%.1f s", took.Seconds())))
	writeTable(&b, fitted(summaryColumns(), f.Classes), f.Classes, summaryWidth)
	fmt.Fprintf(&b, "\n%s\n", listed(outcomes(f), summaryWidth))
	if s.Unknown > 0 {
		fmt.Fprintf(&b, "  %s named a class that the policy does not know\n", plural(s.Unknown, "request"))
	}
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

// summaryWidth is that of any terminal, and of a page that it is pasted into.
const summaryWidth = 80

const legend = `share  of the tokens handed out while every class queued
due    share by the policy's quanta
ttft   from asking to the first chunk, wait to being handed out; wall clock
`

// outcomes is the account of a run.
func outcomes(f *Figures) []string {
	alarm := func(n int, what string) string {
		text := fmt.Sprintf("%s %s", count(n), what)
		if n > 0 {
			return lipgloss.NewStyle().Bold(true).Foreground(lipgloss.Red).Render(text)
		}
		return text
	}
	return []string{
		count(f.Acknowledged) + " acknowledged", count(f.Completed) + " completed", alarm(f.Failed, "failed"),
		alarm(f.Open(), "lost"), alarm(f.Duplicated, "duplicated"),
	}
}
