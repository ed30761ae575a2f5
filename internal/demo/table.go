package demo

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"
)

// column is one column of a table with a row for each class.
type column struct {
	title string
	width int // of the widest cell to expect, so that a live table does not jump
	cell  func(*ClassFigures) string
}

// columns of the live table; those of wait only when there is room.
func liveColumns(width int) []column {
	cols := []column{
		{"queued", 8, func(c *ClassFigures) string { return count(c.Queued) }},
		{"running", 8, func(c *ClassFigures) string { return count(c.Running) }},
		{"done", 7, func(c *ClassFigures) string { return count(c.Done) }},
		{"tokens", 10, func(c *ClassFigures) string { return count(c.Served) }},
	}
	cols = append(cols, shareColumns()...)
	cols = append(cols, quantileColumns("ttft", func(c *ClassFigures) Quantiles { return c.TTFT })...)
	if width >= 100 {
		cols = append(cols, quantileColumns("wait", func(c *ClassFigures) Quantiles { return c.Wait })...)
	}
	return cols
}

// summaryColumns are those of a run that is over.
func summaryColumns() []column {
	cols := []column{
		{"requests", 9, func(c *ClassFigures) string { return count(c.Requests) }},
		{"tokens", 10, func(c *ClassFigures) string { return count(c.Tokens) }},
	}
	cols = append(cols, shareColumns()...)
	cols = append(cols, quantileColumns("ttft", func(c *ClassFigures) Quantiles { return c.TTFT })...)
	return append(cols, quantileColumns("wait", func(c *ClassFigures) Quantiles { return c.Wait })...)
}

func shareColumns() []column {
	return []column{
		{"share", 8, func(c *ClassFigures) string { return percent(c.Share) }},
		{"due", 8, func(c *ClassFigures) string { return percent(c.Entitlement) }},
	}
}

func quantileColumns(of string, get func(*ClassFigures) Quantiles) []column {
	return []column{
		{of + " p50", 10, func(c *ClassFigures) string { return duration(get(c).P50) }},
		{"p99", 8, func(c *ClassFigures) string { return duration(get(c).P99) }},
	}
}

// fitted makes columns just wide enough for what they hold, with a space before it.
func fitted(cols []column, classes []ClassFigures) []column {
	for i := range cols {
		c := &cols[i]
		c.width = lipgloss.Width(c.title)
		for j := range classes {
			c.width = max(c.width, lipgloss.Width(c.cell(&classes[j])))
		}
		c.width++
	}
	return cols
}

// bounds of the width of a class's name; within them it is cut to fit the line.
const minName, maxName = 8, 20

// writeTable writes the columns, one line for each class under a faint head, in
// lines of at most room characters.
func writeTable(w io.Writer, cols []column, classes []ClassFigures, room int) {
	for _, c := range cols {
		room -= c.width
	}
	room = min(max(room-len(margin), minName), maxName)
	width := len("class")
	for i := range classes {
		width = max(width, min(lipgloss.Width(classes[i].Name), room))
	}
	name := lipgloss.NewStyle().Width(width)
	right := func(width int) lipgloss.Style { return lipgloss.NewStyle().Width(width).Align(lipgloss.Right) }
	var head strings.Builder
	head.WriteString(name.Render("class"))
	for _, c := range cols {
		head.WriteString(right(c.width).Render(c.title))
	}
	fmt.Fprintln(w, margin+faint().Render(head.String()))
	for i := range classes {
		c := &classes[i]
		fmt.Fprint(w, margin, name.Bold(true).Render(ansi.Truncate(c.Name, width, "…")))
		for _, col := range cols {
			fmt.Fprint(w, right(col.width).Render(col.cell(c)))
		}
		fmt.Fprintln(w)
	}
}

// margin stands left of everything.
const margin = "  "

func faint() lipgloss.Style { return lipgloss.NewStyle().Faint(true) }

// count writes a number with its thousands apart.
func count[N int | int64](n N) string {
	s := strconv.FormatInt(int64(n), 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

func percent(fraction float64) string { return fmt.Sprintf("%.1f %%", 100*fraction) }

// duration writes a time with two or three digits that matter; none is a dash.
func duration(d time.Duration) string {
	switch {
	case d == 0:
		return "–"
	case d < 10*time.Millisecond:
		return fmt.Sprintf("%.1f ms", float64(d)/float64(time.Millisecond))
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < 10*time.Second:
		return fmt.Sprintf("%.2f s", d.Seconds())
	}
	return fmt.Sprintf("%.1f s", d.Seconds())
}
