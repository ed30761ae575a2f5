package demo

import (
	"context"
	"fmt"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"
)

// live is the table on a terminal. It stands in the lines below the prompt and
// vanishes at the end, to make room for the summary.
type live struct {
	scenario  *Scenario
	out       Output
	interrupt func() // on ^C: a terminal in raw mode sends no signal
}

func newLive(s *Scenario, out Output, interrupt func()) *live {
	return &live{scenario: s, out: out, interrupt: interrupt}
}

// livePace is how often the table is drawn: often enough to seem alive, seldom
// enough to be read.
const livePace = 200 * time.Millisecond

// The size of a terminal that does not tell its own.
const defaultWidth, defaultHeight = 80, 24

func (l *live) show(ctx context.Context, figures func() (Figures, error)) {
	m := &screen{scenario: l.scenario, interrupt: l.interrupt, figures: figures, began: time.Now(), width: defaultWidth}
	m.latest, _ = figures() // the ticks will bring more
	p := tea.NewProgram(m, tea.WithInput(l.out.Keys), tea.WithOutput(l.out.Stdout), tea.WithoutSignalHandler(),
		tea.WithWindowSize(m.width, defaultHeight))
	defer context.AfterFunc(ctx, func() { p.Send(over{}) })()
	if _, err := p.Run(); err != nil {
		fmt.Fprintln(l.out.Stderr, "no live table:", err) // the run goes on without it
	}
}

// screen is the state of the live table.
type screen struct {
	scenario  *Scenario
	interrupt func()
	figures   func() (Figures, error)
	latest    Figures
	began     time.Time
	elapsed   time.Duration
	width     int
	over      bool
}

type tick time.Time

// over says that the run is.
type over struct{}

func nextTick() tea.Cmd { return tea.Tick(livePace, func(t time.Time) tea.Msg { return tick(t) }) }

// Init starts the clock.
func (s *screen) Init() tea.Cmd { return nextTick() }

// Update takes keys, the terminal's size and the clock.
func (s *screen) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.KeyPressMsg:
		if k := msg.String(); k == "ctrl+c" || k == "q" {
			s.interrupt()
		}
	case tea.WindowSizeMsg:
		s.width = msg.Width
	case tick:
		if f, err := s.figures(); err == nil {
			s.latest, s.elapsed = f, time.Time(msg).Sub(s.began)
		}
		return s, nextTick()
	case over:
		s.over = true // the last thing drawn is nothing
		return s, tea.Quit
	}
	return s, nil
}

// View draws the table.
func (s *screen) View() tea.View {
	if s.over {
		return tea.NewView("")
	}
	return tea.NewView(s.draw())
}

// maxBar is the width of the progress bar on a terminal wide enough.
const maxBar = 60

func (s *screen) draw() string {
	f := &s.latest
	var b strings.Builder
	fmt.Fprintf(&b, "\n%s\n\n", headline(s.scenario, s.width))
	writeTable(&b, liveColumns(s.width), f.Classes, s.width)
	done := f.Completed + f.Failed
	fmt.Fprintf(&b, "\n  %s  %s of %s  %s\n", bar(done, f.Total, max(10, min(maxBar, s.width-36))),
		count(done), count(f.Total), faint().Render(fmt.Sprintf("%.0f s", s.elapsed.Seconds())))
	return b.String()
}

// bar is a line of which the part that is done stands out.
func bar(done, total, width int) string {
	n := width * done / max(total, 1)
	return lipgloss.NewStyle().Foreground(lipgloss.Cyan).Render(strings.Repeat("━", n)) + faint().Render(strings.Repeat("─", width-n))
}
