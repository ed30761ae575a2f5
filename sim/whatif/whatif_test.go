package whatif

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"fairlead/policy"
	"fairlead/sim"
	"fairlead/trace"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var update = flag.Bool("update", false, "rewrite the golden files")

// sample is two minutes of traffic with a fleet that it is a little too much for.
func sample(t *testing.T, policies ...string) *Study {
	t.Helper()
	s := &Study{Hop: time.Millisecond, Fleet: []Group{{Count: 2, Slots: 12, PrefillRate: 14_000}}}
	for _, name := range policies {
		file := "../../examples/" + name + ".yaml"
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		p, err := policy.Parse(file, data)
		if err != nil {
			t.Fatal(err)
		}
		s.Policies = append(s.Policies, Policy{name + ".yaml", p})
	}
	src := source(t, "../../trace/sample/azure_code_conv.csv")
	src.Name = "sample.csv"
	src.Classes = classes(t, "code=premium,conv=regular")
	s.Traffic = Traffic{Sources: []*Source{src}, Block: 10 * time.Second, TTL: PerClass[time.Duration]{Except: map[string]time.Duration{"premium": 20 * time.Second}}}
	return s
}

func source(t *testing.T, file string) *Source {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	s, err := ReadSource(f, file)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func classes(t *testing.T, text string) Classes {
	t.Helper()
	c, err := ParseClasses(text)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func report(t *testing.T, s *Study) *Report {
	t.Helper()
	r, err := s.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestText holds what people read.
func TestText(t *testing.T) {
	seeded := sample(t, "premium-regular")
	seeded.Seeds = 5
	tenants := sample(t, "cached-uncached")
	tenants.Traffic.Sources = []*Source{source(t, "../../trace/sample/mooncake_conversation.jsonl")}
	tenants.Traffic.Sessions = true
	broken := sample(t, "first-attempt-retry")
	broken.Fleet = []Group{
		{Name: "old", Slots: 6, Speed: .5, MTBF: 20 * time.Second, MTTR: 10 * time.Second}, {Name: "new", Failures: []string{"die@50"}},
	}
	broken.Traffic.Sources[0].Classes = classes(t, "first_attempt:80%,retry:20%")
	broken.Traffic.TTL = PerClass[time.Duration]{All: 30 * time.Second}
	for name, s := range map[string]*Study{
		"one": sample(t, "premium-regular"), "seeds": seeded, "compare": sample(t, "premium-regular", "cached-uncached"),
		"tenants": tenants, "broken": broken,
	} {
		t.Run(name, func(t *testing.T) {
			var got bytes.Buffer
			if err := report(t, s).WriteText(&got); err != nil {
				t.Fatal(err)
			}
			file := filepath.Join("testdata", name+".txt")
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
		})
	}
}

// TestParallelismChangesNothing: the same study gives the same bytes, on one
// processor or several.
func TestParallelismChangesNothing(t *testing.T) {
	var got [2]bytes.Buffer
	for i, procs := range []int{1, 4} {
		before := runtime.GOMAXPROCS(procs)
		s := sample(t, "premium-regular", "cached-uncached")
		s.Seeds = 6
		err := report(t, s).WriteJSON(&got[i])
		runtime.GOMAXPROCS(before)
		if err != nil {
			t.Fatal(err)
		}
	}
	if got[0].String() != got[1].String() || got[0].Len() < 1000 {
		t.Error("the report depends on how many run at once")
	}
}

// TestCancel: a study ends with its context, and says why.
func TestCancel(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	s := sample(t, "premium-regular")
	s.Seeds = 1000
	stop := errors.New("stop")
	s.Progress = func(part float64) {
		if part > .001 {
			cancel(stop)
		}
	}
	if _, err := s.Run(ctx); !errors.Is(err, stop) {
		t.Errorf("got %v", err)
	}
}

func TestStudyErrors(t *testing.T) {
	for want, change := range map[string]func(*Study){
		"policy: none":                      func(s *Study) { s.Policies = nil },
		"seeds: -1; want":                   func(s *Study) { s.Seeds = -1 },
		"traffic: no trace":                 func(s *Study) { s.Traffic.Sources = nil },
		"speedup: -1; want":                 func(s *Study) { s.Traffic.Speedup = -1 },
		"scale: -1; want":                   func(s *Study) { s.Traffic.Scale.All = -1 },
		"scale: leaves no request":          func(s *Study) { s.Traffic.Scale.Except = map[string]float64{"premium": 0, "regular": 0} },
		"workers: none":                     func(s *Study) { s.Fleet = nil },
		"workers 1: count -1; want":         func(s *Study) { s.Fleet[0].Count = -1 },
		`workers 1: failure "x": want`:      func(s *Study) { s.Fleet[0].Failures = []string{"x"} },
		"worker gpu-1: prefill rate: -5":    func(s *Study) { s.Fleet[0].PrefillRate = -5 },
		"instants: play the recording back": func(s *Study) { s.Times, s.Policies = sim.Instants, append(s.Policies, s.Policies[0]) },
	} {
		s := sample(t, "premium-regular")
		change(s)
		if _, err := s.Run(t.Context()); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

func TestClasses(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for text, want := range map[string]string{"": "conv", "gold": "gold", "code=a,conv=b": "b", "code=a": "conv"} {
		if c := classes(t, text); c.of("conv", rng) != want {
			t.Errorf("%q: %s", text, c.of("conv", rng))
		}
	}
	c := classes(t, "a:20%,b:0.8")
	n := 0
	for range 10_000 {
		if c.of("x", rng) == "a" {
			n++
		}
	}
	if n < 1900 || n > 2100 {
		t.Errorf("%d of 10000, want a fifth", n)
	}
	for text, want := range map[string]string{
		"a:20%,b:70%": "class: the shares sum to 0.9", "a,b": `class "a,b": want one name`, "a=b,c:1": `class "a=b,c:1": want`,
		"a.b": `class "a.b": "a.b" is no name`, "a:x": `class "a:x": "x" is no share`, "a:2": `class "a:2": "2" is no share`,
	} {
		if _, err := ParseClasses(text); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: got %v, want %s", text, err, want)
		}
	}
}

func TestPerClass(t *testing.T) {
	p := PerClass[float64]{All: 1}
	number := func(s string) (float64, error) { return strconv.ParseFloat(s, 64) }
	if err := ParsePerClass(&p, "2, batch=0.5", number); err != nil || p.Of("x") != 2 || p.Of("batch") != .5 {
		t.Errorf("%+v, %v", p, err)
	}
	if err := ParsePerClass(&p, "a=b", number); err == nil {
		t.Error("a=b is no number")
	}
}

// TestScale: requests multiply by class, and the first copy stays where it was.
func TestScale(t *testing.T) {
	s := sample(t, "premium-regular")
	count := func() map[string]int {
		n := map[string]int{}
		for _, r := range s.Traffic.requests(0) {
			n[r.Class]++
		}
		return n
	}
	before := count()
	s.Traffic.Scale = PerClass[float64]{Except: map[string]float64{"regular": 3, "premium": .5}}
	after := count()
	if after["regular"] != 3*before["regular"] || math.Abs(float64(after["premium"])/float64(before["premium"])-.5) > .05 {
		t.Errorf("%v became %v", before, after)
	}
}

// TestResample keeps length and load, and is not the recording.
func TestResample(t *testing.T) {
	s := sample(t, "premium-regular")
	plain := s.Traffic.requests(0)
	total := 0
	for seed := uint64(1); seed <= 40; seed++ {
		drawn := s.Traffic.requests(seed)
		total += len(drawn)
		for i := range drawn {
			if i > 0 && drawn[i].At < drawn[i-1].At || drawn[i].At > plain[len(plain)-1].At+20*time.Second {
				t.Fatalf("seed %d: request %d at %v", seed, i, drawn[i].At)
			}
		}
	}
	if mean := float64(total) / 40; math.Abs(mean/float64(len(plain))-1) > .1 {
		t.Errorf("%.0f requests on average, %d recorded", mean, len(plain))
	}
}

func TestStat(t *testing.T) {
	many := make([]float64, 40)
	for i := range many {
		many[i] = float64(i)
	}
	nan := math.NaN()
	for _, c := range []struct {
		in   []float64
		want Stat
	}{
		{[]float64{3}, Stat{3, 3, 3, 1}}, {[]float64{4, nan, 1, 2}, Stat{2, 1, 4, 3}}, {many, Stat{19.5, 2, 37, 40}},
	} {
		if got := NewStat(c.in); got != c.want {
			t.Errorf("%v: %+v", c.in, got)
		}
	}
	if s := NewStat([]float64{nan}); s.N != 0 || !math.IsNaN(s.Median) {
		t.Errorf("%+v", s)
	}
}

func TestFormat(t *testing.T) {
	for want, got := range map[string]string{
		"1.23 ms": Format(Seconds, .00123), "45.6 s": Format(Seconds, 45.61), "2m5s": Format(Seconds, 125.2), "12.3 %": Format(Fraction, .1234),
		"-1,234,567": Format(Count, -1234567), "-": Format(Tokens, math.NaN()), "999": Format(Count, 999), "0 s": Format(Seconds, 0),
		"+50.0 %": difference(Seconds, []float64{2}, []float64{3}), "-10.0 pt (-20.0 to +0.0)": difference(Fraction, []float64{.5, .5}, []float64{.3, .5}),
		"1 (0 to 2)": FormatStat(Count, Stat{1, 0, 2, 3}),
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

const fleetFile = `
workers:
  - {count: 2, slots: 16, prefill_rate: 30000, token_time: 25ms, batch_slowdown: 0, models: [m]}
  - {name: old, speed: 0.5, cache_tokens: 100000, mtbf: 1h, mttr: 2m, deaths: [{at: 5m, for: 1m}], failures: [refuse=0.01]}
`

func TestFleet(t *testing.T) {
	groups, err := ParseFleet("fleet.yaml", []byte(fleetFile))
	if err != nil {
		t.Fatal(err)
	}
	list, err := workers(groups, []string{"other"})
	if err != nil {
		t.Fatal(err)
	}
	if len(list) != 3 || list[1].Name != "gpu-2" || list[2].Name != "old" || list[0].Engine.BatchSlowdown >= 0 || list[2].Engine.Models[0] != "other" ||
		list[2].Deaths[0] != (sim.Death{At: 5 * time.Minute, For: time.Minute}) || list[2].Engine.Failures[0].Probability != .01 {
		t.Errorf("%+v", list)
	}
	if want := "2 × 16 slots, 30000 tokens/s prefill, 25ms a token; 1 × 8 slots, 10000 tokens/s prefill, 40ms a token"; describe(list) != want {
		t.Errorf("%s", describe(list))
	}
	for text, want := range map[string]string{
		"":                        "f: workers: missing",
		"workers: [{slotz: 3}]":   "f: [1:12] unknown field",
		"workers: [{slots: two}]": "f: [1:19] ",
	} {
		if _, err := ParseFleet("f", []byte(text)); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: got %v, want %s", text, err, want)
		}
	}
	heard := FleetOf([]trace.RecordedWorker{{Worker: "gpu-7", Models: []string{"m"}, Slots: 4, Ranks: 2, Speed: 9000}}, Group{PrefillRate: 5, TokenTime: time.Second})
	if g := heard[0]; g.Name != "gpu-7" || g.Slots != 4 || g.Ranks != 2 || g.PrefillRate != 9000 || g.TokenTime != time.Second {
		t.Errorf("%+v", g)
	}
}

// TestRecordingAsSource: what did not complete is as long as others of its class, and
// attempts stand at their numbers.
func TestRecordingAsSource(t *testing.T) {
	var file bytes.Buffer
	for _, line := range []any{
		trace.RecordingHead{Version: 1, Started: time.Unix(1, 0)},
		trace.Recorded{AtNS: 5e9, ID: 2, Class: "a", Input: 9, MaxOutput: 30, Reason: "queue_full"},
		trace.Recorded{AtNS: 1e9, ID: 1, Class: "a", Input: 9, Output: 40, Retry: "never", Attempts: []trace.Attempt{{Number: 2, HandedNS: 2e9, EndNS: 3e9, Status: "ok", Cached: -1}}},
		trace.RecordedWorker{Worker: "w", Slots: 1, Ranks: 1},
	} {
		if err := trace.WriteLine(&file, line); err != nil {
			t.Fatal(err)
		}
	}
	s, err := ReadSource(&file, "rec.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	got := fmt.Sprint(len(s.rows), s.rows[0].At, s.rows[0].Output, len(s.rows[0].Attempts), s.rows[0].Attempts[1].End, s.rows[1].Output, len(s.Workers))
	if want := "2 1s 40 2 3s 30 1"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
