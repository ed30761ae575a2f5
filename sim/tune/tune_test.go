//go:build !race

package tune

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"fairlead/policy"
	"fairlead/sim/whatif"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var update = flag.Bool("update", false, "rewrite the golden files")

func goals(t *testing.T, texts ...string) []Goal {
	t.Helper()
	var list []Goal
	for _, text := range texts {
		g, err := ParseGoal(text)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, g)
	}
	return list
}

func TestParseGoal(t *testing.T) {
	g := goals(t, "premium:ttft_p99<500ms", "batch : share >= 20%", "x:refused<=0.01", "x:completed>=100")
	for i, want := range []Goal{
		{Class: "premium", Bound: .5, Strict: true}, {Class: "batch", Bound: .2, Least: true}, {Class: "x", Bound: .01}, {Class: "x", Bound: 100, Least: true},
	} {
		if g[i].Class != want.Class || g[i].Bound != want.Bound || g[i].Least != want.Least || g[i].Strict != want.Strict {
			t.Errorf("%s: %+v", g[i], g[i])
		}
	}
	for text, want := range map[string]string{
		"premium": "want CLASS:FIGURE<BOUND", "premium:speed<3": `no figure "speed"`, "premium:ttft_p99<3": `"3" is no duration`,
		"premium:share>=2": `"2" is no part`, "premium:asked<x": `"x" is no number`, "premium:ttft_p99=1s": "want CLASS:FIGURE<BOUND",
	} {
		if _, err := ParseGoal(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", text, err, want)
		}
	}
}

func TestGoalValues(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		goal               string
		value, short, room float64
	}{
		{"a:ttft_p99<2s", 1, 0, .5}, {"a:ttft_p99<2s", 3, .5, -.5}, {"a:ttft_p99<2s", 2, 1e-6, 0}, {"a:ttft_p99<=2s", 2, 0, 0},
		{"a:share>=0.5", .4, .2, -.2}, {"a:share>=0.5", .75, 0, .5}, {"a:ttft_p99<2s", nan, 10, math.Inf(1)}, {"a:share>=0.5", nan, 0, math.Inf(1)},
	} {
		g := goals(t, c.goal)[0]
		if short := g.short(c.value); math.Abs(short-c.short) > 1e-9 || g.met(c.value) != (short == 0) {
			t.Errorf("%s at %v: short by %v, met %v", g, c.value, short, g.met(c.value))
		}
		if room := g.room(c.value); room != c.room && math.Abs(room-c.room) > 1e-9 {
			t.Errorf("%s at %v: room %v", g, c.value, room)
		}
	}
}

const flowPolicy = `default_policy_family: a # the default
uncached_isl_buckets: [{min_tokens: 0, bucket: all}]
policy_classes:
  # first
  - {name: a, policy_family: a, cache_bucket: all, quantum: 512, prefill_busy_threshold: 99}
  - {name: b, policy_family: b, cache_bucket: all, quantum: 128} # second
`

// TestWrite: numbers change, and nothing else.
func TestWrite(t *testing.T) {
	got, err := setting{quanta: []int64{512, 300}, thresholds: []int64{50, 2048}}.write("f", []byte(flowPolicy))
	if err != nil {
		t.Fatal(err)
	}
	want := strings.NewReplacer("threshold: 99", "threshold: 50", "quantum: 128", "quantum: 300, prefill_busy_threshold: 2048").Replace(flowPolicy)
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Error(diff)
	}
	p, err := policy.Parse("f", got)
	if err != nil {
		t.Fatal(err)
	}
	if s := settingOf(p.Root, 3); s.key() != (setting{3, []int64{512, 300}, []int64{50, 2048}}).key() {
		t.Error(s)
	}
}

// config is a search on two minutes of traffic that two workers are too few for.
func config(t *testing.T, texts ...string) Config {
	t.Helper()
	text, err := os.ReadFile("../../examples/premium-regular.yaml")
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Open("../../trace/sample/azure_code_conv.csv")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	src, err := whatif.ReadSource(f, "sample.csv")
	if err != nil {
		t.Fatal(err)
	}
	if src.Classes, err = whatif.ParseClasses("code=premium,conv=regular"); err != nil {
		t.Fatal(err)
	}
	return Config{
		File: "policy.yaml", Text: text, Goals: goals(t, texts...), Quanta: true, Check: 5,
		Study: &whatif.Study{
			Fleet: []whatif.Group{{Count: 2, Slots: 16}}, Seeds: 2, Hop: time.Millisecond,
			Traffic: whatif.Traffic{Sources: []*whatif.Source{src}, Block: time.Minute},
		},
	}
}

func search1(t *testing.T, cfg Config) *Result {
	t.Helper()
	r, err := Run(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestQuanta: a share that the quanta do not give is found by changing them, and the
// policy that is printed gives it.
func TestQuanta(t *testing.T) {
	r := search1(t, config(t, "regular:share>=0.45", "premium:share>=0.45"))
	if !r.Met || r.Workers != 2 || r.Together < 4 {
		t.Fatalf("%+v", r)
	}
	p, err := policy.Parse("found", r.Policy)
	if err != nil {
		t.Fatal(err)
	}
	if q := settingOf(p.Root, 2).quanta; q[0] != 512 || q[1] < 420 || q[1] > 630 {
		t.Errorf("quanta %v, want about 1 : 1", q)
	}
}

// TestConflict: shares that sum up to more than all cannot be had together, which is
// said; and what no policy can do is, too.
func TestConflict(t *testing.T) {
	r := search1(t, config(t, "premium:share>=0.7", "regular:share>=0.7", "premium:ttft_p50<1ms"))
	if r.Met || len(r.Missed) == 0 {
		t.Fatalf("%+v", r)
	}
	said := map[string]Conflict{}
	for _, c := range r.Missed {
		said[c.Goal.String()] = c
	}
	if c, ok := said["premium:ttft_p50<1ms"]; !ok || c.Alone {
		t.Errorf("%+v", c)
	}
	r = search1(t, config(t, "premium:share>=0.7", "regular:share>=0.7"))
	for _, c := range r.Missed {
		if !c.Alone || len(c.Against) != 1 || c.Against[0] == c.Goal {
			t.Errorf("%+v", c)
		}
	}
	if len(r.Missed) == 0 {
		t.Error("nothing is missed")
	}
}

// TestWorkers: the number found suffices, and with one less the goals are missed.
func TestWorkers(t *testing.T) {
	cfg := config(t, "premium:ttft_p99<3s", "regular:ttft_p99<20s")
	cfg.Workers = true
	r := search1(t, cfg)
	if !r.Met || r.Workers < 3 || r.Workers > 5 || len(r.Fewer) == 0 {
		t.Fatalf("%d workers, met %v, with one less %+v", r.Workers, r.Met, r.Fewer)
	}
	var got bytes.Buffer
	if err := errors.Join(r.WriteText(&got), r.WritePolicy(&got)); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join("testdata", "workers.txt")
	if *update {
		if err := os.WriteFile(file, got.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Error(diff)
	}
	cfg.Study.Fleet[0].Count = 16 // far too many: it comes down to the same number
	if down := search1(t, cfg); down.Workers != r.Workers {
		t.Errorf("%d workers from above, %d from below", down.Workers, r.Workers)
	}
}

// TestThresholds: where there is none, one is tried.
func TestThresholds(t *testing.T) {
	cfg := config(t, "premium:wait_p50<1ms")
	cfg.Text = []byte(flowPolicy)
	cfg.Goals = goals(t, "regular:wait_p99<1ms")
	cfg.Quanta, cfg.Thresholds, cfg.MaxPlays = false, true, 25
	r := search1(t, cfg)
	if r.Met || r.Plays > 25 {
		t.Fatalf("%+v", r)
	}
	if !strings.Contains(string(r.Policy), "prefill_busy_threshold") {
		t.Error("no threshold was tried")
	}
}

// TestLimit: a search that may not go on says so, and what it has.
func TestLimit(t *testing.T) {
	cfg := config(t, "premium:ttft_p99<1s", "regular:ttft_p99<1s")
	cfg.Workers, cfg.MaxPlays = true, 4
	if r := search1(t, cfg); !r.Limited || r.Plays != 4 || r.Met || len(r.Policy) == 0 {
		t.Errorf("%+v", r)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Run(ctx, config(t, "premium:ttft_p99<1s")); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestErrors(t *testing.T) {
	for want, change := range map[string]func(*Config){
		"goals: none":                      func(c *Config) { c.Goals = nil },
		"tune: nothing may change":         func(c *Config) { c.Quanta = false },
		"workers: the fleet has several":   func(c *Config) { c.Workers = true; c.Study.Fleet = append(c.Study.Fleet, c.Study.Fleet[0]) },
		"goal gold:share>=0.1: no request": func(c *Config) { c.Goals = goals(t, "gold:share>=0.1") },
		"policy.yaml:1:1":                  func(c *Config) { c.Text = []byte("[]") },
		"limits: negative":                 func(c *Config) { c.MaxPlays = -1 },
	} {
		cfg := config(t, "premium:share>=0.1")
		change(&cfg)
		if _, err := Run(t.Context(), cfg); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
