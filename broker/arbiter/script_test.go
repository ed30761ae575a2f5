package arbiter

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead/policy"
	"fairlead/wire"
)

var update = flag.Bool("update", false, "rewrite the outputs in testdata/*.txt")

// TestScripts plays every testdata/*.txt: a line that begins at the margin is an
// event, the indented lines below it are what the arbiter wants done. They are
// written by -update, and reviewed like code. testdata/README.md lists the events.
func TestScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) { playFile(t, file) })
	}
}

func playFile(t *testing.T, file string) {
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	got := play(t, string(want))
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
		t.Errorf("outputs differ (- script, + now):\n%s", diff)
	}
}

// play returns the script with the outputs that it has now.
func play(t *testing.T, text string) string {
	s := &script{t: t, beats: map[string]*wire.Heartbeat{}, claims: map[string]HandOut{}, now: time.Unix(1_000_000, 0)}
	for n, line := range strings.Split(strings.TrimRight(text, "\n"), "\n") {
		s.line = n + 1
		if strings.HasPrefix(line, "  ") {
			continue // an output of an earlier run
		}
		s.out.WriteString(line + "\n")
		line, _, _ = strings.Cut(line, "#")
		if words := strings.Fields(line); len(words) > 0 {
			s.run(words[0], parseArgs(words[1:]))
		}
	}
	return s.out.String()
}

// args are the words after a command: plain ones in order, and key=value.
type args struct {
	words []string
	named map[string]string
}

func parseArgs(words []string) args {
	a := args{named: map[string]string{}}
	for _, w := range words {
		if key, value, ok := strings.Cut(w, "="); ok {
			a.named[key] = value
		} else {
			a.words = append(a.words, w)
		}
	}
	return a
}

func (a args) has(word string) bool {
	for _, w := range a.words {
		if w == word {
			return true
		}
	}
	return false
}

func (a args) list(key string) []string {
	if a.named[key] == "" {
		return nil
	}
	return strings.Split(a.named[key], ",")
}

type script struct {
	t       *testing.T
	line    int
	out     strings.Builder
	now     time.Time
	arb     *Arbiter
	policy  strings.Builder // classes of the next start or reload
	profile string
	saved   Saved
	beats   map[string]*wire.Heartbeat // last one of each worker
	claims  map[string]HandOut         // by id.attempt
	verdict map[uint64]wire.Verdict
	open    map[string]bool // fenced writes to be answered
	dones   uint64
	tokens  uint64
}

func (s *script) fail(format string, v ...any) {
	s.t.Helper()
	s.t.Fatalf("line %d: %s", s.line, fmt.Sprintf(format, v...))
}

func (s *script) number(text string) uint64 {
	if text == "" {
		return 0
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		s.fail("%v", err)
	}
	return n
}

// count reads a number of tokens, -1 for unknown.
func (s *script) count(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		s.fail("%v", err)
	}
	return n
}

func (s *script) duration(text string) time.Duration {
	if text == "" {
		return 0
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		s.fail("%v", err)
	}
	return d
}

// attempt reads "7.2": request 7, attempt 2.
func (s *script) attempt(text string) (id uint64, attempt uint32) {
	x, y, _ := strings.Cut(text, ".")
	return s.number(x), uint32(s.number(y))
}

// worker reads "w1@20": worker w1, incarnation 20. Without one it is 10.
func (s *script) worker(text string) (name string, incarnation uint64) {
	name, at, ok := strings.Cut(text, "@")
	if !ok {
		return name, 10
	}
	return name, s.number(at)
}

// seqOf is the sequence in WORK that a claim has in a script.
func seqOf(id uint64, attempt uint32) uint64 { return id*100 + uint64(attempt) }

const verdictSeq = 1_000_000 // of the verdict about request 0

// addClass notes a class for the next start or reload.
func (s *script) addClass(a args) {
	name := a.words[0]
	fmt.Fprintf(&s.policy, "  - {name: %s", name)
	if !a.has("explicit") {
		fmt.Fprintf(&s.policy, ", policy_family: %s, cache_bucket: all", name)
	}
	for _, key := range sortedKeys(a.named) { // a list in braces has ; for , and : without a blank
		value := strings.NewReplacer(";", ", ", ":", ": ").Replace(a.named[key])
		fmt.Fprintf(&s.policy, ", %s: %s", key, value)
	}
	s.policy.WriteString("}\n")
	if s.profile == "" {
		s.profile = "default_policy_family: " + name + "\n"
	}
}

// takePolicy returns the policy of the classes noted since the last one.
func (s *script) takePolicy() *policy.Policy {
	if s.policy.Len() == 0 {
		return policy.Default()
	}
	text := s.profile + "uncached_isl_buckets: [{min_tokens: 0, bucket: all}]\npolicy_classes:\n" + s.policy.String()
	s.policy.Reset()
	s.profile = ""
	p, err := policy.Parse("script", []byte(text))
	if err != nil {
		s.fail("policy: %v\n%s", err, text)
	}
	return p
}

// step feeds an event and prints what comes of it.
func (s *script) step(ev Event) {
	if s.arb == nil {
		s.fail("no start yet")
	}
	for _, act := range s.arb.Step(s.now, ev) {
		s.note(act)
		fmt.Fprintf(&s.out, "  %s\n", printed(act))
	}
	if err := s.arb.invariants(); err != nil {
		s.fail("%v", err)
	}
}

// note keeps what answers to an action need.
func (s *script) note(act Action) {
	switch act := act.(type) {
	case HandOut:
		name := fmt.Sprintf("%d.%d", act.Claim.ID, act.Claim.Attempt)
		s.claims[name] = act
		s.open["stored "+name] = true
	case StoreVerdict:
		s.verdict[act.Verdict.ID] = act.Verdict
		s.open[fmt.Sprintf("ruled %d", act.Verdict.ID)] = true
	}
}

// wait lets time pass, with every tick that is due on the way.
func (s *script) wait(d time.Duration) {
	end := s.now.Add(d)
	for {
		at, ok := s.arb.NextDeadline()
		if !ok || at.After(end) {
			break
		}
		from := s.out.Len()
		s.now = maxTime(s.now, at)
		s.step(Tick{})
		if s.out.Len() > from {
			fmt.Fprintf(&s.out, "  (%s before the end)\n", end.Sub(s.now))
		}
		if next, ok := s.arb.NextDeadline(); ok && !next.After(at) {
			s.fail("a tick at %v is due again at %v", at, next)
		}
	}
	s.now = end
}

func maxTime(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
