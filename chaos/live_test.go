//go:build slow

package main

import (
	"os"
	"testing"
	"time"

	"fairlead/chaos/rig"
)

// TestMain lets the test binary be the nodes of the cluster, as the command does.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == rig.NodeCommand {
		main()
		return
	}
	os.Exit(m.Run())
}

// TestChaos is the short form of a run.
func TestChaos(t *testing.T) {
	o := options{faults: 8, seed: 1, rate: 20, every: 3 * time.Second, dir: t.TempDir()}
	report, err := chaos(t.Context(), o, t.Output())
	if err != nil {
		t.Fatal(err)
	}
	if report.Completed == 0 || report.Taped == 0 {
		t.Errorf("nothing was completed or nothing recorded: %+v", report)
	}
}
