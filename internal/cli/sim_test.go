package cli_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const (
	samplePolicy = "../../examples/premium-regular.yaml"
	otherPolicy  = "../../examples/cached-uncached.yaml"
	sampleTrace  = "../../trace/sample/azure_code_conv.csv"
)

// simReport is what tests need of the JSON of sim run.
type simReport struct {
	Requests, Seeds int
	Policies        []struct {
		Policy  string
		Classes []struct {
			Class   string
			Figures map[string]struct{ Median, Low, High float64 }
		}
	}
}

func TestSimRun(t *testing.T) {
	plots := filepath.Join(t.TempDir(), "charts")
	r := execute(t.Context(), "", "sim", "run", "--policy", samplePolicy, "--compare", otherPolicy, "--trace", sampleTrace,
		"--class", "code=premium,conv=regular", "--workers", "3", "--speeds", "1,0.5", "--slots", "12", "--seeds", "3", "--ttl", "premium=30s",
		"--scale", "regular=1.5", "--speedup", "1.2", "--json", "--plot", plots)
	if r.code != 0 || r.err != "" {
		t.Fatalf("%+v", r)
	}
	var got simReport
	if err := json.Unmarshal([]byte(r.out), &got); err != nil {
		t.Fatal(err)
	}
	premium := got.Policies[0].Classes[0]
	if got.Seeds != 3 || len(got.Policies) != 2 || premium.Class != "premium" || premium.Figures["asked"].Median != 684 {
		t.Errorf("%+v", got)
	}
	if share := premium.Figures["share"].Median; share < .78 || share > .82 {
		t.Errorf("premium has %.3f of what was shared, want 0.8", share)
	}
	for _, name := range []string{"ttft.svg", "ttft.png", "waiting-1.svg", "waiting-2.png", "share-1.svg", "share-2.png"} {
		if f, err := os.Stat(filepath.Join(plots, name)); err != nil || f.Size() < 1000 {
			t.Errorf("chart %s: %v", name, err)
		}
	}
}

func TestSimRunRefuses(t *testing.T) {
	bad := filepath.Join(t.TempDir(), "bad.csv")
	must(t, os.WriteFile(bad, []byte("x,y\n"), 0o600))
	for _, c := range []struct {
		args string
		code int
		want string
	}{
		{"", 2, "--trace: missing"},
		{"--trace " + sampleTrace, 2, "--policy: missing"},
		{"--trace " + sampleTrace + " --policy nowhere.yaml", 1, "--policy: open nowhere.yaml"},
		{"--trace nowhere.csv --policy " + samplePolicy, 1, "--trace: open nowhere.csv"},
		{"--trace " + bad + " --policy " + samplePolicy, 1, "line 1: neither an Azure CSV"},
		{"--trace " + sampleTrace + " --class a --class b --policy " + samplePolicy, 2, "--class: 2, but 1 --trace"},
		{"--trace " + sampleTrace + " --class a:2 --policy " + samplePolicy, 2, `--class: class "a:2"`},
		{"--trace " + sampleTrace + " --scale x --policy " + samplePolicy, 2, `--scale "x"`},
		{"--trace " + sampleTrace + " --ttl 5 --policy " + samplePolicy, 2, `--ttl "5"`},
		{"--trace " + sampleTrace + " --workers 0 --policy " + samplePolicy, 2, "--workers 0: want"},
		{"--trace " + sampleTrace + " --fleet recorded --policy " + samplePolicy, 2, "--fleet recorded: no --trace"},
		{"--trace " + sampleTrace + " --engine-times x --policy " + samplePolicy, 2, `--engine-times "x": want`},
		{"--trace " + sampleTrace + " --slots -2 --policy " + samplePolicy, 1, "worker gpu-1: slots: -2"},
	} {
		r := execute(t.Context(), "", append([]string{"sim", "run"}, strings.Fields(c.args)...)...)
		if r.code != c.code || !strings.Contains(r.err, c.want) {
			t.Errorf("%s: exit code %d, %s; want %d, %s", c.args, r.code, r.err, c.code, c.want)
		}
	}
}
