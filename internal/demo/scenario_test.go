package demo

import (
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func load(t *testing.T, o Options) *Scenario {
	t.Helper()
	s, err := Load(o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestDefaultScenarioIsAnOverloadOfBothClasses(t *testing.T) {
	s := load(t, Options{})
	if n := len(s.Requests); n < 1000 {
		t.Errorf("%d requests, want at least 1,000", n)
	}
	if diff := cmp.Diff([]Class{{"conv", 0.75}, {"code", 0.25}}, s.Classes); diff != "" {
		t.Errorf("classes (-want +got)\n%s", diff)
	}
	if !slices.IsSortedFunc(s.Requests, func(a, b Request) int { return int(a.At - b.At) }) {
		t.Error("requests are not sorted by time")
	}
	if last := s.Requests[len(s.Requests)-1].At; last < arrivals/2 || last > arrivals {
		t.Errorf("the last request comes after %v, want near %v", last, arrivals)
	}
	tokens := map[string]int64{}
	for _, r := range s.Requests {
		if s.Classes[r.Class].Name != r.Name {
			t.Fatalf("a request for %s is of class %s", r.Name, s.Classes[r.Class].Name)
		}
		tokens[r.Name] += r.Uncached()
	}
	// Each class must bring more than its share of what the fleet can take in the
	// meantime, or it would never queue for long.
	for _, c := range s.Classes {
		if share := float64(tokens["conv"]+tokens["code"]) / overload * c.Entitlement; float64(tokens[c.Name]) <= share {
			t.Errorf("%s brings %d tokens, and its share is %.0f: it does not queue", c.Name, tokens[c.Name], share)
		}
	}
}

func TestSpeedupScalesArrivalsAndEngines(t *testing.T) {
	one, ten := load(t, Options{Speedup: 1}), load(t, Options{Speedup: 10})
	last := len(one.Requests) - 1
	if a, b := one.Requests[last].At, ten.Requests[last].At; (a/10 - b).Abs() > time.Microsecond {
		t.Errorf("last arrivals %v and %v, want a tenth", a, b)
	}
	a, b := one.Fleet.Engine, ten.Fleet.Engine
	if a.Speedup != 1 || b.Speedup != 10 || a.PrefillRate != b.PrefillRate || a.TokenTime != b.TokenTime {
		t.Errorf("engines %+v and %+v, want the same but for the speed-up", a, b)
	}
	if slow := load(t, Options{Speedup: 0.1}); slow.Patience != 10*one.Patience {
		t.Errorf("patience %v at a tenth of the speed, %v at the nominal one; want ten times as much", slow.Patience, one.Patience)
	}
}

func TestDuel(t *testing.T) {
	for name, due := range map[string]float64{ScenarioPremiumRegular: 0.8, ScenarioEqual: 0.5} {
		s := load(t, Options{Scenario: name})
		if diff := cmp.Diff([]Class{{"premium", due}, {"regular", 1 - due}}, s.Classes, cmp.Comparer(near)); diff != "" {
			t.Errorf("%s: classes (-want +got)\n%s", name, diff)
		}
		asked := map[string]int{}
		for _, r := range s.Requests {
			asked[r.Name]++
			if r.Input != 512 || r.Uncached() != 512 || r.At != 0 {
				t.Fatalf("%s: request %+v, want 512 tokens at once", name, r)
			}
		}
		if want := map[string]int{"premium": 320, "regular": 320}; !maps.Equal(asked, want) {
			t.Errorf("%s asks %v, want %v", name, asked, want)
		}
		f := s.Fleet
		if f.Workers != 1 || f.Slots != 4 || f.Engine.Slots != 4 || f.Engine.Jitter != 0 || !f.Late {
			t.Errorf("%s: fleet %+v, want one late worker of 4 slots without jitter", name, f)
		}
		for _, c := range s.Policy.Root.Classes {
			if c.PrefillBusyThreshold == nil || *c.PrefillBusyThreshold != 1536 {
				t.Errorf("%s: class %s has the threshold %v, want 1536", name, c.Name, c.PrefillBusyThreshold)
			}
		}
	}
}

func near(a, b float64) bool { return a-b < 1e-9 && b-a < 1e-9 }

func TestFrontends(t *testing.T) {
	s := load(t, Options{Scenario: ScenarioPremiumRegular, Frontends: 2, Skew: true})
	for _, r := range s.Requests {
		if want := map[string]int{"premium": 0, "regular": 1}[r.Name]; r.Frontend != want {
			t.Fatalf("skewed, %s enters frontend %d, want %d", r.Name, r.Frontend, want)
		}
	}
	s = load(t, Options{Frontends: 3})
	used := [3]int{}
	for _, r := range s.Requests {
		used[r.Frontend]++
	}
	if slices.Max(used[:])-slices.Min(used[:]) > 1 {
		t.Errorf("frontends ask %v requests, want them even", used)
	}
}

func TestTraceFiles(t *testing.T) {
	s := load(t, Options{TraceFile: "../../trace/sample/mooncake_conversation.jsonl", Requests: 100, Workers: 7, Seed: 3})
	if len(s.Requests) != 100 || s.Fleet.Workers != 7 || s.Fleet.Engine.Seed != 3 {
		t.Errorf("%d requests, %d workers, seed %d; want 100, 7, 3", len(s.Requests), s.Fleet.Workers, s.Fleet.Engine.Seed)
	}
	if diff := cmp.Diff([]Class{{"mooncake_conversation", 1}}, s.Classes); diff != "" {
		t.Errorf("classes (-want +got)\n%s", diff)
	}
	if !slices.ContainsFunc(s.Requests, func(r Request) bool { return r.Cached > 0 && r.Uncached() > 0 }) {
		t.Error("no request has a cached prefix, although blocks repeat")
	}
	s = load(t, Options{TraceFile: "../../trace/sample/azure_code_conv.csv"})
	if diff := cmp.Diff([]Class{{"conv", 0.75}, {"code", 0.25}}, s.Classes); diff != "" {
		t.Errorf("the Azure trace from a file has other classes than the built-in one (-want +got)\n%s", diff)
	}
}

func TestPolicyFileDecidesTheClasses(t *testing.T) {
	s := load(t, Options{PolicyFile: "../../policy/testdata/good/cached-uncached.yaml"})
	for _, r := range s.Requests {
		want := "cached"
		if r.Uncached() >= 3072 {
			want = "uncached"
		}
		if got := s.Classes[r.Class].Name; got != want {
			t.Fatalf("%d uncached tokens are of class %s, want %s", r.Uncached(), got, want)
		}
	}
	if s.Unknown != len(s.Requests) || load(t, Options{}).Unknown != 0 {
		t.Errorf("%d requests of %d name an unknown class", s.Unknown, len(s.Requests))
	}
}

func TestPlainPolicyTakesAnyName(t *testing.T) {
	names := []string{"true", "007", "a-b_c", "default"}
	p, err := parseOwn(plainYAML(names))
	if err != nil {
		t.Fatal(err)
	}
	for i, name := range names {
		if got := p.Root.Resolve(name, 5); got.Class != i || !got.Known {
			t.Errorf("%s is class %d, known %v; want %d, true", name, got.Class, got.Known, i)
		}
	}
}

func TestLoadRefuses(t *testing.T) {
	for _, c := range []struct {
		o    Options
		want string
	}{
		{Options{Scenario: "premium"}, `--scenario "premium": want one of trace, premium-regular, equal`},
		{Options{Scenario: ScenarioTrace, TraceFile: "x.csv"}, "--scenario and --trace: each says what to ask"},
		{Options{Scenario: ScenarioEqual, Requests: 5}, "--requests: cuts a trace, and equal asks 640"},
		{Options{Workers: -1}, "--workers -1: want 1 to 64"},
		{Options{Workers: 65}, "--workers 65: want 1 to 64"},
		{Options{Frontends: 65, Requests: -1}, "--frontends 65: want 1 to 64, or 0 for the default\n--requests -1: want 1 to 1000000"},
		{Options{Speedup: -1}, "--speedup -1: want 0.01 to 10000"},
		{Options{Speedup: math.Inf(1)}, "--speedup +Inf: want"},
		{Options{Speedup: math.NaN()}, "--speedup NaN: want"},
		{Options{Skew: true}, "--skew: 2 classes are asked for, and each wants a frontend of its own; give --frontends 2"},
		{Options{TraceFile: "testdata/none.csv"}, "--trace: open testdata/none.csv"},
		{Options{TraceFile: "options.go"}, "--trace: options.go: line 1: neither an Azure CSV"},
		{Options{PolicyFile: "testdata/none.yaml"}, "--policy: open testdata/none.yaml"},
		{Options{PolicyFile: "../../policy/testdata/bad/several.yaml"}, "--policy:\n../../policy/testdata/bad/several.yaml:1:24"},
	} {
		if _, err := Load(c.o); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v\n got %v\nwant %s", c.o, err, c.want)
		}
	}
}
