package metricsdoc

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func page(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "metrics.md")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestRead(t *testing.T) {
	const text = "# Metrics\n| metric | type |\n" +
		"| `fairlead_a_total` | counter | `b` `a` | requests | meaning | |\n" +
		"| `fairlead_agent_b` | gauge | | 0 or 1 | meaning | above 0 |\n"
	all, err := Read(page(t, text))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]Metric{"fairlead_a_total": {"counter", "a b"}, "fairlead_agent_b": {"gauge", ""}}
	if diff := cmp.Diff(want, all); diff != "" {
		t.Error(diff)
	}
	if broker := Of(all); len(broker) != 1 || broker["fairlead_a_total"].Type == "" {
		t.Errorf("of no other program: %v", broker)
	}
	if agent := Of(all, "fairlead_agent_"); len(agent) != 1 || agent["fairlead_agent_b"].Type == "" {
		t.Errorf("of the agent: %v", agent)
	}
}

func TestBadPages(t *testing.T) {
	row := "| `fairlead_a` | gauge | | s | meaning | |\n"
	for want, text := range map[string]string{
		"twice":   row + row,
		"5 cells": "| `fairlead_a` | gauge | | s | meaning |\n",
		"cell 4":  "| `fairlead_a` | gauge | | | meaning | |\n",
	} {
		if _, err := Read(page(t, text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	if _, err := Read(filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("a page that is not there was read")
	}
}
