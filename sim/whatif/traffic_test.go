package whatif

import (
	"testing"
	"time"

	"fairlead/sim"
	"fairlead/trace"
)

// TestAttempts: attempts of a recording have their places by number, whatever their
// order, and a number costs no memory.
func TestAttempts(t *testing.T) {
	got := attempts([]trace.Attempt{{Number: 2, EndNS: 2}, {Number: 4_000_000_000, EndNS: 3}, {Number: 1, EndNS: 1}, {Number: 0, EndNS: 4}})
	if len(got) != mostAttempts {
		t.Fatalf("%d attempts, want the first %d", len(got), mostAttempts)
	}
	want := map[int]sim.Attempt{0: {End: 1}, 1: {End: 2 * time.Nanosecond}}
	for i := range got {
		if got[i] != want[i] {
			t.Errorf("attempt %d: %+v, want %+v", i+1, got[i], want[i])
		}
	}
	if got := attempts([]trace.Attempt{{Number: 2}, {Number: 1}}); len(got) != 2 {
		t.Errorf("%d attempts, want 2", len(got))
	}
}
