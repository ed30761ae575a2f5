//go:build !race

package model

import (
	"slices"
	"testing"
)

// TestEveryStepIsTaken: a step that no exploration takes would check nothing. Some
// belong to rules that are off, or to faults that a test of its own has.
func TestEveryStepIsTaken(t *testing.T) {
	t.Parallel()
	elsewhere := []act{nothing, guardsLate, readLagging, overlook, claimDuplicate, recreated}
	r := Explore(Scenario{Rules: All(), Agents: 1, Attempts: 1, Tokens: true, Faults: every(), Total: 2})
	for a := range act(len(sentences)) {
		if !r.taken[a] && !slices.Contains(elsewhere, a) {
			t.Errorf("never taken: %q", sentences[a])
		}
		if a != nothing && sentences[a] == "" {
			t.Errorf("step %d has no sentence", a)
		}
	}
}
