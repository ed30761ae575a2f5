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

func TestSimTune(t *testing.T) {
	common := []string{
		"sim", "tune", "--policy", samplePolicy, "--trace", sampleTrace, "--class", "code=premium,conv=regular", "--workers", "2", "--slots", "16",
		"--seeds", "2", "--check-seeds", "3", "--tune", "quanta",
	}
	r := execute(t.Context(), "", append(common, "--goal", "regular:share>=0.3")...)
	if r.code != 0 || !strings.Contains(r.err, "every goal is met: 2 workers") {
		t.Fatalf("%+v", r)
	}
	found := filepath.Join(t.TempDir(), "found.yaml")
	must(t, os.WriteFile(found, []byte(r.out), 0o600))
	if r := execute(t.Context(), "", "policy", "check", found); r.code != 0 || r.err != "" {
		t.Errorf("what was printed is no policy file: %+v", r)
	}
	r = execute(t.Context(), "", append(common, "--json", "--goal", "premium:ttft_p50<1ms")...)
	var got struct {
		Met    bool
		Missed []struct {
			Goal  string
			Alone bool `json:"met_alone"`
		}
		Policy string
	}
	if err := json.Unmarshal([]byte(r.out), &got); err != nil || r.code != 1 || got.Met || len(got.Missed) != 1 || got.Missed[0].Alone || got.Policy == "" {
		t.Errorf("%v, %+v", err, r)
	}
	for args, want := range map[string]string{
		"--policy x":                           "--goal: missing",
		"--goal a:share>=0.1":                  "--policy: missing",
		"--policy x --goal a":                  `--goal "a": want`,
		"--policy x --goal a:share>0 --tune y": `--tune "y": want`,
	} {
		if r := execute(t.Context(), "", append([]string{"sim", "tune"}, strings.Fields(args)...)...); r.code != 2 || !strings.Contains(r.err, want) {
			t.Errorf("%s: %+v", args, r)
		}
	}
}
