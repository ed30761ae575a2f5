package mock

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var rewrite = flag.Bool("rewrite", false, "rewrite the golden files")

// drive runs a model in virtual time until nothing can go on, and writes down
// what happened.
func drive(t *testing.T, cfg Config, jobs ...Job) string {
	t.Helper()
	m, err := NewModel(cfg)
	if err != nil {
		t.Fatal(err)
	}
	for i, j := range jobs {
		m.Add(uint64(i+1), j)
	}
	var b strings.Builder
	var at time.Duration
	for took, out, ok := m.Step(); ok; took, out, ok = m.Step() {
		at += took
		fmt.Fprintf(&b, "%9s", at.Round(time.Microsecond))
		for _, p := range out {
			fmt.Fprintf(&b, "  %d:%d", p.ID, p.Produced)
			if p.Done {
				b.WriteString("!")
			}
		}
		b.WriteByte('\n')
	}
	fmt.Fprintf(&b, "left: %d running, %d waiting\n", m.Running(), m.Waiting())
	return b.String()
}

func TestModelGolden(t *testing.T) {
	base := Config{Slots: 2, PrefillRate: 1000, TokenTime: 10 * time.Millisecond, BatchSlowdown: 0.5, MaxBatched: 100}
	jittered := base
	jittered.Jitter, jittered.Seed = 0.2, 7
	strided := base
	strided.Stride = 4
	for name, got := range map[string]string{
		"batch":  drive(t, base, Job{Uncached: 150, Output: 4}, Job{Uncached: 30, Output: 2}, Job{Output: 3}),
		"jitter": drive(t, jittered, Job{Uncached: 150, Output: 3}, Job{Uncached: 30, Output: 2}),
		"slow":   drive(t, base, Job{Output: 2, Slow: true}, Job{Output: 3}),
		"stuck":  drive(t, base, Job{Uncached: 10, Output: 1, Stuck: true}, Job{Output: 1}, Job{Output: 1}),
		"stride": drive(t, strided, Job{Output: 10}),
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join("testdata", name+".txt")
			if *rewrite {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestModelLeap: leaping over the steps that are alike changes nothing, whatever comes
// and goes at the places where it stops.
func TestModelLeap(t *testing.T) {
	leaps := int64(0)
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 0))
		cfg := Config{
			Slots: 1 + rng.IntN(4), PrefillRate: 1000, TokenTime: 10 * time.Millisecond, BatchSlowdown: 0.25,
			MaxBatched: 1 + rng.Int64N(200), Stride: 1 + rng.Int64N(3),
		}
		step, leap := newModel(cfg.WithDefaults()), newModel(cfg.WithDefaults())
		var at [2]time.Duration
		for id := uint64(1); id < 40; id++ {
			if rng.IntN(3) == 0 {
				job := Job{Uncached: rng.Int64N(300), Output: rng.Int64N(60), Slow: rng.IntN(9) == 0, Stuck: rng.IntN(30) == 0}
				step.Add(id, job)
				leap.Add(id, job)
			}
			if rng.IntN(9) == 0 {
				gone := 1 + rng.Uint64N(id)
				if step.Remove(gone) != leap.Remove(gone) {
					t.Fatalf("seed %d: job %d is in one of the two", seed, gone)
				}
			}
			n, each := leap.Alike()
			if n = min(n, 1+rng.Int64N(20)); n > 0 {
				leaps++
				leap.Skip(n)
				at[1] += time.Duration(n) * each
			}
			for range n {
				took, out, ok := step.Step()
				at[0] += took
				for _, p := range out {
					if p.Done || p.Produced <= cfg.Stride || !ok {
						t.Fatalf("seed %d: %+v was leapt over", seed, p)
					}
				}
			}
			took, out, ok := step.Step()
			took2, out2, ok2 := leap.Step()
			at[0], at[1] = at[0]+took, at[1]+took2
			if at[0] != at[1] || ok != ok2 || !slices.Equal(out, out2) {
				t.Fatalf("seed %d: by steps at %v %v, by leaps at %v %v", seed, at[0], out, at[1], out2)
			}
		}
	}
	if leaps < 1000 {
		t.Errorf("only %d leaps", leaps)
	}
}

func TestModelRemoveFreesTheSlot(t *testing.T) {
	m, err := NewModel(Config{Slots: 1})
	if err != nil {
		t.Fatal(err)
	}
	m.Add(1, Job{Output: 1, Stuck: true})
	m.Add(2, Job{Output: 1})
	if _, _, ok := m.Step(); ok || m.Running() != 1 || m.Waiting() != 1 {
		t.Fatalf("a stuck job did not hold the only slot: %d running, %d waiting", m.Running(), m.Waiting())
	}
	if !m.Remove(1) || m.Remove(1) {
		t.Fatal("a job can be removed once, and only once")
	}
	if _, out, ok := m.Step(); !ok || len(out) != 1 || out[0] != (Progress{ID: 2, Produced: 1, Done: true}) {
		t.Fatalf("the waiting job did not take the slot: %v", out)
	}
}

func TestConfigErrors(t *testing.T) {
	for want, cfg := range map[string]Config{
		"slots: -1, want":              {Slots: -1},
		"prefill rate: -1 tokens/s":    {PrefillRate: -1},
		"token time: -1ns":             {TokenTime: -1},
		"max batched tokens: -2":       {MaxBatched: -2},
		"stride: -1":                   {Stride: -1},
		"output tokens: -1":            {OutputTokens: -1},
		"jitter: 1.5":                  {Jitter: 1.5},
		"speedup: -1":                  {Speedup: -1},
		`failure "x": unknown kind`:    {Failures: []Failure{{Kind: "x", Every: 1}}},
		"failure die: probability 2":   {Failures: []Failure{{Kind: Die, Probability: 2}}},
		"failure die: want either":     {Failures: []Failure{{Kind: Die}}},
		"failure refuse: retry after ": {Failures: []Failure{{Kind: Refuse, Every: 1, RetryAfter: -1}}},
	} {
		if _, err := New(cfg); err == nil || !strings.HasPrefix(err.Error(), "mock engine: "+want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

func TestParseFailure(t *testing.T) {
	for in, want := range map[string]Failure{
		"die=0.25": {Kind: Die, Probability: 0.25},
		"refuse@5": {Kind: Refuse, Every: 5},
	} {
		if got, err := ParseFailure(in); err != nil || got != want {
			t.Errorf("%s: got %+v, %v", in, got, err)
		}
	}
	for _, in := range []string{"", "die", "die=", "die=NaN", "die=2", "die=0", "die@0", "die@x", "die@-1", "burn@2"} {
		if f, err := ParseFailure(in); err == nil {
			t.Errorf("%q was read as %+v", in, f)
		}
	}
}
