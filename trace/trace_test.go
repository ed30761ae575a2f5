package trace_test

import (
	"bytes"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead/trace"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// summary prints what a reader would check by eye: totals by class, then the head.
func summary(reqs []trace.Request) string {
	var text strings.Builder
	for _, class := range trace.Classes(reqs) {
		var n, input, cached, output int
		for _, r := range reqs {
			if r.Class == class {
				n, input, cached, output = n+1, input+r.Input, cached+r.Cached, output+r.Output
			}
		}
		fmt.Fprintf(&text, "%s: %d requests, input %d, cached %d, output %d\n", class, n, input, cached, output)
	}
	fmt.Fprintf(&text, "lasts %v\n\n%12s %-22s %6s %6s %6s %s\n",
		reqs[len(reqs)-1].At, "at", "class", "input", "cached", "output", "session")
	for _, r := range reqs[:min(40, len(reqs))] {
		line := fmt.Sprintf("%12v %-22s %6d %6d %6d %s", r.At, r.Class, r.Input, r.Cached, r.Output, r.Session)
		fmt.Fprintln(&text, strings.TrimRight(line, " "))
	}
	return text.String()
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got); rewrite with -update\n%s", file, diff)
	}
}

func TestShippedSlices(t *testing.T) {
	for _, file := range []string{"azure_code_conv.csv", "mooncake_conversation.jsonl"} {
		t.Run(file, func(t *testing.T) {
			content, err := os.ReadFile(filepath.Join("sample", file))
			if err != nil {
				t.Fatal(err)
			}
			reqs, err := trace.Read(bytes.NewReader(content), "sample/"+file)
			if err != nil {
				t.Fatal(err)
			}
			golden(t, file, summary(reqs))
		})
	}
}

func TestSampleHasTwoClassesThatOverlap(t *testing.T) {
	reqs := trace.Sample()
	if len(reqs) < 1200 {
		t.Errorf("%d requests, want at least 1200", len(reqs))
	}
	if !slices.IsSortedFunc(reqs, func(a, b trace.Request) int { return int(a.At - b.At) }) {
		t.Error("not sorted by arrival")
	}
	for _, half := range [][]trace.Request{reqs[:len(reqs)/2], reqs[len(reqs)/2:]} {
		count := map[string]int{}
		for _, r := range half {
			count[r.Class]++
		}
		if len(count) != 2 || count["code"] < 200 || count["conv"] < 200 {
			t.Errorf("classes in one half: %v, want at least 200 of code and of conv", count)
		}
	}
}

func TestScale(t *testing.T) {
	reqs := []trace.Request{{At: 0}, {At: time.Second}, {At: math.MaxInt64}}
	for _, c := range []struct {
		factor float64
		want   []time.Duration
	}{
		{0.5, []time.Duration{0, 500 * time.Millisecond, math.MaxInt64/2 + 1}},
		{0, []time.Duration{0, 0, 0}},
		{2, []time.Duration{0, 2 * time.Second, math.MaxInt64}},
	} {
		for i, r := range trace.Scale(reqs, c.factor) {
			if r.At != c.want[i] {
				t.Errorf("factor %g: request %d at %v, want %v", c.factor, i, r.At, c.want[i])
			}
		}
	}
	if reqs[1].At != time.Second {
		t.Error("Scale changed its argument")
	}
	for _, bad := range []float64{-1, math.NaN(), math.Inf(1)} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("Scale by %g did not panic", bad)
				}
			}()
			trace.Scale(reqs, bad)
		}()
	}
}

func TestSpreadStaysWithinItsInstantAndKeepsOrder(t *testing.T) {
	const grid = trace.MooncakeGrid
	var reqs []trace.Request
	for i := range 3000 {
		reqs = append(reqs, trace.Request{At: time.Duration(i/10) * grid, Input: i})
	}
	got := trace.Spread(reqs, grid, rand.New(rand.NewPCG(1, 2)))
	var early int
	for i, r := range got {
		delay := r.At - reqs[i].At
		if r.Input != i || delay < 0 || delay >= grid {
			t.Fatalf("request %d: now number %d, delayed by %v, want order kept and 0 <= delay < %v", i, r.Input, delay, grid)
		}
		if i > 0 && r.At < got[i-1].At {
			t.Fatalf("request %d arrives before its predecessor", i)
		}
		if delay < grid/3 {
			early++
		}
	}
	if early < 900 || early > 1100 {
		t.Errorf("%d of 3000 fell into the first third, want about 1000", early)
	}
	if again := trace.Spread(reqs, grid, rand.New(rand.NewPCG(1, 2))); !slices.Equal(got, again) {
		t.Error("the same seed gave another trace")
	}
}

func TestSpreadIsBoundByWithin(t *testing.T) {
	reqs := []trace.Request{{At: 0}, {At: 0}, {At: time.Hour}, {At: time.Hour}}
	for i, r := range trace.Spread(reqs, time.Second, rand.New(rand.NewPCG(1, 2))) {
		if delay := r.At - reqs[i].At; delay <= 0 || delay >= time.Second {
			t.Errorf("request %d delayed by %v, want within a second", i, delay)
		}
	}
}
