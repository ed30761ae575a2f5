package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestSimFigures draws one figure and prints its rulings.
func TestSimFigures(t *testing.T) {
	dir := t.TempDir()
	got := execute(t.Context(), "", "sim", "figures", "--only", "11", "--seeds", "20", "--requests", "6000", "--out", dir)
	if got.code != 0 || !strings.Contains(got.out, "11.true-up") || !strings.Contains(got.err, "1 of 1: charging") {
		t.Fatalf("%+v", got)
	}
	for _, name := range []string{"11-true-up.svg", "11-true-up.png", "11-true-up.csv"} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestSimFiguresWithoutTraces says that it takes the shipped slices.
func TestSimFiguresWithoutTraces(t *testing.T) {
	dir := t.TempDir()
	got := execute(t.Context(), "", "sim", "figures", "--only", "9", "--seeds", "20", "--out", dir, "--traces", dir)
	if got.code != 0 || !strings.Contains(got.err, "shipped slices") {
		t.Fatalf("%+v", got)
	}
}

func TestSimFiguresRefuses(t *testing.T) {
	for _, row := range []struct {
		args string
		want string
	}{
		{"--seeds 3", "at least 20"},
		{"--requests 10", "at least 6000"},
		{"--only 12", "want numbers of 1, 2"},
		{"--only 1 --docs x", "want one of them"},
		{"four", "want no arguments"},
	} {
		got := execute(t.Context(), "", append([]string{"sim", "figures", "--out", t.TempDir()}, strings.Fields(row.args)...)...)
		if got.code != 2 || !strings.Contains(got.err, row.want) {
			t.Errorf("%s: %+v, want %q", row.args, got, row.want)
		}
	}
}
