package lab_test

import (
	"os"
	"strings"
	"testing"

	"fairlead/drr"
	"fairlead/sim/lab"
	"fairlead/trace"
)

// fixed are requests of two classes that each have one cost.
func fixed(n int, a, b uint32) []lab.Job {
	jobs := make([]lab.Job, 2*n)
	for i := range jobs {
		jobs[i] = lab.Job{At: float64(i), Size: 1, Tokens: []uint32{a, b}[i%2], Class: int32(i % 2)}
	}
	return jobs
}

func pair(a, b int64) []drr.Class {
	return []drr.Class{{Name: "a", Quantum: a}, {Name: "b", Quantum: b}}
}

// watch keeps both classes backlogged and returns how their service drifted.
func watch(t *testing.T, jobs []lab.Job, classes []drr.Class, p lab.Policy) *lab.Drift {
	t.Helper()
	d := lab.NewDrift(classes[0].Quantum, classes[1].Quantum)
	err := lab.Saturated(jobs, p, 3, func(i int) bool {
		d.Serve(int(jobs[i].Class), jobs[i].Tokens)
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestLiteralShare: costs of two and three quanta part 40 to 60 by the letter, and in half by DRR.
func TestLiteralShare(t *testing.T) {
	jobs, classes := fixed(20_000, 200, 300), pair(100, 100)
	literal := watch(t, jobs, classes, lab.Literal(classes))
	within(t, "literal share", literal.Share(), .4, .005)
	if literal.Widest() < 100*literal.Bound() {
		t.Errorf("the literal rules drifted %.1f rounds apart, want far over the bound of %.1f", literal.Widest(), literal.Bound())
	}
	production := watch(t, jobs, classes, lab.Production{Classes: classes}.Queue)
	within(t, "exact share", production.Share(), .5, .005)
	if production.Widest() > production.Bound() {
		t.Errorf("the exact rules drifted %.1f rounds apart, bound %.1f", production.Widest(), production.Bound())
	}
}

// mooncake returns the uncached tokens of a public trace as requests of two classes in turn: whole where it lies
// beside the checkout, else the slice that is shipped.
func mooncake(t *testing.T) []lab.Job {
	t.Helper()
	f, err := os.Open("../../../shared/traces/mooncake_conversation.jsonl")
	if err != nil {
		f, err = os.Open("../../trace/sample/mooncake_conversation.jsonl")
	}
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	requests, err := trace.ReadMooncake(f, "mooncake", 0)
	if err != nil {
		t.Fatal(err)
	}
	var jobs []lab.Job
	for range 1 + 20_000/len(requests) { // the slice is short
		for i, r := range requests {
			jobs = append(jobs, lab.Job{Tokens: uint32(max(1, r.Input-r.Cached)), Size: 1, Class: int32(i % 2)})
		}
	}
	return jobs
}

func TestMooncakeBound(t *testing.T) {
	jobs, classes := mooncake(t), pair(8192, 4096)
	if d := watch(t, jobs, classes, lab.Literal(classes)); d.Widest() <= d.Bound() {
		t.Errorf("the literal rules drifted %.1f rounds apart, within the bound of %.1f: there is no difference to show", d.Widest(), d.Bound())
	}
	if d := watch(t, jobs, classes, lab.Production{Classes: classes}.Queue); d.Widest() > d.Bound() {
		t.Errorf("the exact rules drifted %.1f rounds apart, bound %.1f", d.Widest(), d.Bound())
	}
}

// TestLiteralExamples: what the reference's text says of its own rules.
func TestLiteralExamples(t *testing.T) {
	// Quantum 10, costs 3, 3, 3, 3: three in a row, then the other class.
	jobs := fixed(20, 3, 3)
	classes := pair(10, 10)
	var got strings.Builder
	err := lab.Saturated(jobs, lab.Literal(classes), 8, func(i int) bool {
		got.WriteString(classes[jobs[i].Class].Name)
		return got.Len() < 6
	})
	if err != nil {
		t.Fatal(err)
	}
	if want := "aaabbb"; got.String() != want {
		t.Errorf("served %s, want %s", got.String(), want)
	}
	// Heads of 7,000 and 9,000 at quanta of 1,000 and 2,000: the second goes first.
	jobs, classes = fixed(2, 7000, 9000), pair(1000, 2000)
	first := -1
	err = lab.Saturated(jobs, lab.Literal(classes), 2, func(i int) bool { first = i; return false })
	if err != nil || first < 0 || jobs[first].Class != 1 {
		t.Errorf("job %d went first (%v), want the one of 9,000 tokens", first, err)
	}
}
