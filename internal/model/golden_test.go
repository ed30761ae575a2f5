//go:build !race

package model

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the traces in testdata")

// TestTraces keeps a few shortest counterexamples for the reader. They are written
// by -update, and reviewed like code.
func TestTraces(t *testing.T) {
	for file, rule := range map[string]string{
		"guards.txt":   "1 guards are written before the reads",
		"barrier.txt":  "3 barrier before a lost claim is touched",
		"returned.txt": "10 also that of an attempt not known",
		"stop.txt":     "9 no broker stops a newer one's claim",
	} {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			x := named(t, rule)
			got := fmt.Sprintf("Without rule %q:\n\n%s", rule, x.hunt().Trace(x.breaks))
			path := filepath.Join("testdata", file)
			if *update {
				if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("the shortest trace has changed; if it should, run with -update\nwant\n%s\ngot\n%s", want, got)
			}
		})
	}
}

func named(t *testing.T, rule string) removal {
	t.Helper()
	for _, x := range removals() {
		if x.rule == rule {
			return x
		}
	}
	t.Fatalf("no rule %q", rule)
	return removal{}
}
