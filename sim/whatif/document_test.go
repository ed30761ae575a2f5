package whatif

import (
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"fairlead/trace"
)

// TestDocument: every key of recordings and fleet files, and every figure, stands in
// docs/simulator.md, in the table that is about it, and nothing else does.
func TestDocument(t *testing.T) {
	text, err := os.ReadFile("../../docs/simulator.md")
	if err != nil {
		t.Fatal(err)
	}
	var figures []string
	for _, m := range Metrics() {
		figures = append(figures, strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(m.Name, "_p90"), "_p99"), "_max"))
	}
	slices.Sort(figures)
	for head, want := range map[string][]string{
		"figure":            slices.DeleteFunc(slices.Compact(figures), func(s string) bool { return s == "wait" || s == "ttft" || s == "total" }),
		"key":               keys(Group{}, "yaml"),
		"key of the head":   keys(trace.RecordingHead{}, "json"),
		"key of a request":  keys(trace.Recorded{}, "json"),
		"key of an attempt": keys(trace.Attempt{}, "json"),
		"key of a worker":   keys(trace.RecordedWorker{}, "json"),
	} {
		got := table(t, string(text), head)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("table %q has %v, want %v", head, got, want)
		}
	}
}

// keys are the names of the fields of a struct in files.
func keys(of any, tag string) []string {
	var list []string
	for f := range reflect.TypeOf(of).Fields() {
		name, _, _ := strings.Cut(f.Tag.Get(tag), ",")
		list = append(list, name)
	}
	return list
}

var code = regexp.MustCompile("`([^`]+)`")

// table lists the names in the first column of a table, sorted.
func table(t *testing.T, text, head string) []string {
	t.Helper()
	_, rest, ok := strings.Cut(text, "\n| "+head+" | ")
	if !ok {
		t.Fatalf("no table begins with %q", head)
	}
	rest, _, _ = strings.Cut(rest, "\n\n")
	var names []string
	for _, line := range strings.Split(rest, "\n")[2:] {
		first, _, _ := strings.Cut(strings.TrimPrefix(line, "| "), " | ")
		for _, m := range code.FindAllStringSubmatch(first, -1) {
			if !strings.HasPrefix(m[1], "_") { // short for the name before it
				names = append(names, m[1])
			}
		}
	}
	slices.Sort(names)
	return names
}
