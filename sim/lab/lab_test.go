package lab_test

import (
	"math"
	"testing"

	"fairlead/drr"
	"fairlead/sim/lab"
)

func within(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got/want-1) <= tolerance) {
		t.Errorf("%s: %.6g, want %.6g within %v %%", what, got, want, 100*tolerance)
	}
}

// TestByHand: runs short enough to be worked out on paper.
func TestByHand(t *testing.T) {
	jobs := []lab.Job{
		{At: 0, Size: 4, Tokens: 4, Deadline: 100},
		{At: 1, Size: 3, Tokens: 3, Deadline: 50},
		{At: 2, Size: 1, Tokens: 1, Deadline: 60},
	}
	served := func(p lab.Policy) []float64 {
		o, err := lab.Serve(jobs, p)
		if err != nil {
			t.Fatal(err)
		}
		return o.End
	}
	for _, row := range []struct {
		name string
		ends []float64
		want [3]float64
	}{
		{"fcfs", served(lab.FCFS), [3]float64{4, 7, 8}},
		{"wspt", served(lab.OneLane(drr.Class{Order: drr.WSPT})), [3]float64{4, 8, 5}},
		{"edf", served(lab.OneLane(drr.Class{Order: drr.EDF})), [3]float64{4, 7, 8}},
		{"srpt", lab.ServeSRPT(jobs).End, [3]float64{5, 8, 3}},
		// Alone until 1, two until 2, three until 5 when the small one ends; then 1.5 and 1.5 are left.
		{"shared", lab.ServeShared(jobs).End, [3]float64{8, 8, 5}},
	} {
		for i, want := range row.want {
			if math.Abs(row.ends[i]-want) > 1e-12 {
				t.Errorf("%s: ends %v, want %v", row.name, row.ends, row.want)
				break
			}
		}
	}
}

// TestPlacement: each placement looks at what it says.
func TestPlacement(t *testing.T) {
	// One long request, then small ones, on two servers of which the second is half as fast.
	jobs := []lab.Job{{At: 0, Size: 10}, {At: 0, Size: 2}, {At: 1, Size: 2}, {At: 1, Size: 2}, {At: 1, Size: 2}}
	busy := func(p lab.Placement) float64 {
		o, err := lab.Route(jobs, []float64{1, .5}, p, 1)
		if err != nil {
			t.Fatal(err)
		}
		last := 0.0
		for _, end := range o.End {
			last = max(last, end)
		}
		return last
	}
	if byLine, byWork := busy(lab.ShortestLine), busy(lab.LeastWork); byWork > byLine {
		t.Errorf("by work the last ends at %v, by count at %v", byWork, byLine)
	}
	if a, b := busy(lab.TwoByWork), busy(lab.LeastWork); a != b {
		t.Errorf("two choices of two servers end at %v, all of them at %v: want the same", a, b)
	}
	if got := busy(lab.RoundRobin); got != 14 {
		t.Errorf("in turns the last ends at %v, want 14", got)
	}
}

// TestCharged: what is charged at the end counts: at twice the cost a class of equal quantum is served half as often.
func TestCharged(t *testing.T) {
	jobs, served := fixed(3000, 100, 100), [2]float64{}
	for i := range jobs {
		jobs[i].Output = uint32(100 * (1 - i%2))
	}
	p := lab.Production{Classes: pair(100, 100), Used: func(j lab.Job) int64 { return int64(j.Output) }}
	err := lab.Saturated(jobs, p.Queue, 3, func(i int) bool {
		served[jobs[i].Class]++
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
	within(t, "requests of the second class for one of the first", served[1]/served[0], 2, .01)
}

func TestRefuses(t *testing.T) {
	good := lab.Workload{Load: .5, Rate: 1, Classes: []lab.Class{{Weight: 1, Fraction: 1, Mean: 1}}}
	for name, spoil := range map[string]func(*lab.Workload){
		"load":     func(w *lab.Workload) { w.Load = 0 },
		"rate":     func(w *lab.Workload) { w.Rate = math.NaN() },
		"noise":    func(w *lab.Workload) { w.Noise = -1 },
		"fraction": func(w *lab.Workload) { w.Classes = []lab.Class{{Weight: 1, Fraction: .5, Mean: 1}} },
		"mean":     func(w *lab.Workload) { w.Classes = []lab.Class{{Weight: 1, Fraction: 1}} },
	} {
		w := good
		spoil(&w)
		if _, err := w.Draw(1, 1); err == nil {
			t.Errorf("%s: %+v was taken", name, w)
		}
	}
	if _, err := good.Draw(1, 1); err != nil {
		t.Error(err)
	}
	if _, err := lab.Route(nil, []float64{0}, lab.Random, 1); err == nil {
		t.Error("a server of speed 0 was taken")
	}
	if _, err := lab.Route(nil, nil, lab.Random, 1); err == nil {
		t.Error("no server was taken")
	}
	if _, err := lab.Serve([]lab.Job{{Class: 2}}, lab.Production{Classes: pair(1, 1)}.Queue); err == nil {
		t.Error("a class that the policy has not was taken")
	}
	if _, err := lab.Serve(nil, lab.Literal(nil)); err == nil {
		t.Error("a ring without classes was taken")
	}
}

// BenchmarkMillion is a million requests of the primer's experiment, WSPT.
func BenchmarkMillion(b *testing.B) {
	w := lab.Workload{Load: .85, Rate: 1e6, Classes: []lab.Class{
		{Weight: 8, Fraction: .5, Mean: .3, Sigma: 1}, {Weight: 2, Fraction: .5, Mean: 1, Sigma: 1},
	}}
	for b.Loop() {
		jobs, err := w.Draw(1, 1_000_000)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := lab.Serve(jobs, lab.Smith(w.Classes)); err != nil {
			b.Fatal(err)
		}
	}
}
