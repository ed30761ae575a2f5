package demo

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// golden compares text with a file of testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got), rewrite with -update:\n%s", path, diff)
	}
}

// middle is the state of the default scenario in the middle of a run.
func middle() Figures {
	return Figures{
		Total: 1375, Asked: 1200, Acknowledged: 1199, Completed: 515, Failed: 1,
		Classes: []ClassFigures{
			{
				Class: Class{"conv", 0.75}, Requests: 600, Queued: 229, Running: 31, Done: 340, Tokens: 1_234_567, Served: 431_200, Share: 0.7512,
				TTFT: Quantiles{310 * time.Millisecond, 1234 * time.Millisecond}, Wait: Quantiles{9 * time.Millisecond, 999 * time.Millisecond},
			},
			{Class: Class{"a_class_with_a_very_long_name", 0.25}, Requests: 599, Queued: 1_348, Running: 1, Tokens: 999, Share: 0.2488},
		},
	}
}

func TestScreens(t *testing.T) {
	s := load(t, Options{})
	for name, width := range map[string]int{"live-80.txt": 80, "live-120.txt": 120} {
		screen := &screen{scenario: s, latest: middle(), width: width, elapsed: 8 * time.Second}
		text := ansi.Strip(screen.draw())
		for line := range strings.Lines(text) {
			if w := lipgloss.Width(strings.TrimSuffix(line, "\n")); w > width {
				t.Errorf("at %d columns a line has %d: %s", width, w, line)
			}
		}
		golden(t, name, text)
	}
}

func TestSummaries(t *testing.T) {
	f := middle()
	var out bytes.Buffer
	if err := writeSummary(&out, load(t, Options{}), &f, 14832*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	golden(t, "summary-trace.txt", out.String())
	narrow(t, &out)
	out.Reset()
	f.Duel = &DuelFigures{256, 240}
	s := load(t, Options{Scenario: ScenarioPremiumRegular})
	s.Unknown = 320
	if err := writeSummary(&out, s, &f, time.Second); err != nil {
		t.Fatal(err)
	}
	narrow(t, &out)
	golden(t, "summary-duel.txt", out.String())
}

// narrow checks that a text fits 80 columns.
func narrow(t *testing.T, text fmt.Stringer) {
	t.Helper()
	for line := range strings.Lines(text.String()) {
		if w := lipgloss.Width(strings.TrimSuffix(line, "\n")); w > 80 {
			t.Errorf("a line has %d columns: %s", w, line)
		}
	}
}

// TestSummaryOfLargeFigures: what does not fit beside each other stands below.
func TestSummaryOfLargeFigures(t *testing.T) {
	s := load(t, Options{})
	s.Title = strings.Repeat("a long title ", 10)
	s.Frontends, s.Fleet.Workers, s.Fleet.Slots, s.Speedup = 64, 64, 1024, 1234.5
	f := middle()
	f.Total, f.Acknowledged, f.Completed, f.Failed, f.Duplicated = 1e6, 1e6, 333_333, 333_333, 123_456
	f.Classes[0].Share, f.Classes[0].TTFT.P99 = 1, 1234*time.Second
	var out bytes.Buffer
	if err := writeSummary(&out, s, &f, time.Hour); err != nil {
		t.Fatal(err)
	}
	narrow(t, &out)
	if text := out.String(); !strings.Contains(text, "3600.0 s") || !strings.Contains(text, "123,456 duplicated") {
		t.Errorf("something was cut off:\n%s", text)
	}
}

func TestProgressLine(t *testing.T) {
	f := middle()
	want := "516 of 1,375 done; conv: 229 queued, 31 running, 75.1 % of the tokens (due 75.0 %); " +
		"a_class_with_a_very_long_name: 1,348 queued, 1 running, 24.9 % of the tokens (due 25.0 %)"
	if got := progressLine(&f); got != want {
		t.Errorf("\n got %s\nwant %s", got, want)
	}
}

func TestNumbers(t *testing.T) {
	for n, want := range map[int]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567", -12345: "-12,345", -123: "-123"} {
		if got := count(n); got != want {
			t.Errorf("count(%d) = %s, want %s", n, got, want)
		}
	}
	for d, want := range map[time.Duration]string{
		0: "–", 1234 * time.Microsecond: "1.2 ms", 310 * time.Millisecond: "310 ms", 1234 * time.Millisecond: "1.23 s", 75 * time.Second: "75.0 s",
	} {
		if got := duration(d); got != want {
			t.Errorf("duration(%v) = %s, want %s", d, got, want)
		}
	}
}

func TestKeysInterrupt(t *testing.T) {
	for _, key := range []tea.KeyPressMsg{{Code: 'c', Mod: tea.ModCtrl}, {Code: 'q', Text: "q"}} {
		interrupted := false
		s := &screen{interrupt: func() { interrupted = true }}
		s.Update(key)
		if !interrupted {
			t.Errorf("%v does not interrupt", key)
		}
	}
	s := &screen{interrupt: func() { t.Error("x interrupts") }}
	s.Update(tea.KeyPressMsg{Code: 'x', Text: "x"})
}

func TestLiveTableIsDrawnAndEndsWithItsContext(t *testing.T) {
	var out, stderr bytes.Buffer
	s := load(t, Options{})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	l := newLive(s, Output{Stdout: &out, Stderr: &stderr}, cancel)
	asked := 0
	l.show(ctx, func() (Figures, error) {
		if asked++; asked == 2 {
			cancel()
		}
		return middle(), nil
	})
	if text := ansi.Strip(out.String()); !strings.Contains(text, "Azure code and conversation traces") || !strings.Contains(text, "1,348") {
		t.Errorf("the table was not drawn: %q", text)
	}
	if stderr.Len() > 0 {
		t.Errorf("stderr: %s", &stderr)
	}
}

func TestLogsAreKeptOutOfALiveTable(t *testing.T) {
	var out bytes.Buffer
	l := &logs{w: &out, keep: true}
	write := func(s string) {
		if n, err := l.Write([]byte(s)); n != len(s) || err != nil {
			t.Errorf("Write: %d, %v", n, err)
		}
	}
	write("a")
	write(strings.Repeat("b", maxKept)) // over the bound
	if out.Len() > 0 {
		t.Errorf("%q was written during the run", &out)
	}
	l.flush()
	write("c")
	l.close()
	write("d")
	if out.String() != "ac" {
		t.Errorf("%q, want ac", &out)
	}
}
