package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// perform runs a scenario with --json, in a temporary folder that must be empty
// afterwards, and returns the line.
func perform(t *testing.T, s *Scenario) (report, string, error) {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	var stdout, stderr bytes.Buffer
	err := Run(t.Context(), s, Output{Stdout: &stdout, Stderr: &stderr, JSON: true})
	if left, lerr := os.ReadDir(dir); lerr != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, lerr)
	}
	var r report
	if stdout.Len() > 0 {
		if jerr := json.Unmarshal(stdout.Bytes(), &r); jerr != nil || strings.Count(stdout.String(), "\n") != 1 {
			t.Errorf("stdout is not one line of JSON (%v):\n%s", jerr, &stdout)
		}
	}
	return r, stderr.String(), err
}

// complete checks that each of n requests has exactly one good outcome.
func complete(t *testing.T, r report, n int) {
	t.Helper()
	if got, want := [5]int{r.Acknowledged, r.Completed, r.Failed, r.Lost, r.Duplicated}, [5]int{n, n, 0, 0, 0}; got != want {
		t.Errorf("acknowledged, completed, failed, lost, duplicated are %v, want %v", got, want)
	}
}

func TestReplayOfTheBuiltInTrace(t *testing.T) {
	s := load(t, Options{Speedup: 100, Frontends: 2})
	r, stderr, err := perform(t, s)
	if err != nil {
		t.Fatal(err, "\n", stderr)
	}
	complete(t, r, len(s.Requests))
	for _, name := range []string{"conv", "code"} {
		c := r.Classes[name]
		// While both queue, the account is off by at most a quantum and a request for
		// each class, of some hundred thousand tokens.
		if c.Requests < 600 || math.Abs(c.Share-c.Entitlement) > 0.03 {
			t.Errorf("%s: %d requests, share %v of %v due", name, c.Requests, c.Share, c.Entitlement)
		}
		if c.Wait.P50 <= 0 || c.Wait.P99 < c.Wait.P50 || c.TTFT.P50 <= 0 || c.TTFT.P99 < c.Wait.P50 {
			t.Errorf("%s: wait %+v, ttft %+v", name, c.Wait, c.TTFT)
		}
	}
	if r.PremiumInFirst != nil || r.RegularLeft != nil {
		t.Error("a replay has the fields of a duel")
	}
}

func TestDuels(t *testing.T) {
	for _, c := range []struct {
		o                        Options
		first, within            int
		left, leftWithin, reward int
	}{
		{Options{Scenario: ScenarioPremiumRegular}, 256, 2, 240, 4, 4},
		{Options{Scenario: ScenarioPremiumRegular, Frontends: 2, Skew: true}, 256, 2, 240, 4, 4},
		{Options{Scenario: ScenarioEqual}, 160, 4, 0, 8, 1},
	} {
		t.Run(fmt.Sprintf("%s skew %v", c.o.Scenario, c.o.Skew), func(t *testing.T) {
			c.o.Speedup = 1000
			r, stderr, err := perform(t, load(t, c.o))
			if err != nil {
				t.Fatal(err, "\n", stderr)
			}
			complete(t, r, 2*duelEach)
			if got := *r.PremiumInFirst; got < c.first-c.within || got > c.first+c.within {
				t.Errorf("%d of the first 320 are premium, want %d ± %d", got, c.first, c.within)
			}
			if got := *r.RegularLeft; got < c.left-c.leftWithin || got > c.left+c.leftWithin {
				t.Errorf("%d regular left when premium was drained, want %d ± %d", got, c.left, c.leftWithin)
			}
			if p := r.Classes["premium"]; math.Abs(p.Share-p.Entitlement) > 0.01 || !near(p.Entitlement, float64(c.reward)/float64(c.reward+1)) {
				t.Errorf("premium has a share of %v, %v due", p.Share, p.Entitlement)
			}
		})
	}
}

// A ^C in the middle ends everything, and says so.
func TestInterrupt(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := load(t, Options{Speedup: 1}) // two minutes of arrivals
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	var stdout, stderr bytes.Buffer
	working := &signalled{w: &stderr, on: "running", f: cancel}
	err := Run(ctx, s, Output{Stdout: &stdout, Stderr: working, JSON: true})
	if !errors.Is(err, context.Canceled) || err.Error() != "interrupted" {
		t.Errorf("error %v, want interrupted", err)
	}
	if stdout.Len() > 0 {
		t.Errorf("stdout: %s", &stdout)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
	if !strings.Contains(stderr.String(), "requests had an outcome") {
		t.Errorf("stderr does not say how far it got:\n%s", &stderr)
	}
}

// signalled calls f when a text has been written through it.
type signalled struct {
	w  *bytes.Buffer
	on string
	f  func()
}

func (s *signalled) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte(s.on)) {
		s.f()
	}
	return s.w.Write(p)
}

// Without a worker nothing ever ends, and what was acknowledged counts as lost.
func TestLostRequestsAreCounted(t *testing.T) {
	s := load(t, Options{Scenario: ScenarioPremiumRegular})
	s.Fleet.Workers, s.Patience, s.Requests = 0, 2*time.Second, s.Requests[:10]
	r, _, err := perform(t, s)
	if err == nil || err.Error() != "10 acknowledged requests have no outcome" {
		t.Errorf("error %v, want it to say that 10 are missing", err)
	}
	if r.Acknowledged != 10 || r.Lost != 10 {
		t.Errorf("%d acknowledged, %d lost; want 10 and 10", r.Acknowledged, r.Lost)
	}
}

// A policy with limits refuses requests with a word: failed, not lost.
func TestRefusedRequestsFail(t *testing.T) {
	s := load(t, Options{Scenario: ScenarioPremiumRegular, Speedup: 1000})
	limit := int64(100)
	for i := range s.Policy.Root.Classes {
		s.Policy.Root.Classes[i].Limits.Requests = &limit
	}
	r, _, err := perform(t, s)
	if err != nil {
		t.Fatal(err)
	}
	// The worker comes when all are acknowledged, which may be before the broker has
	// read them all: then some find room that others have left.
	if r.Completed < 200 || r.Failed == 0 || r.Completed+r.Failed != 640 || r.Lost != 0 {
		t.Errorf("%d completed, %d failed, %d lost; want at least 200, the rest of 640, 0", r.Completed, r.Failed, r.Lost)
	}
}

// TestForeignPolicyIsCalm: that a trace's classes are not the policy's is counted
// at the end, and fills no log.
func TestForeignPolicyIsCalm(t *testing.T) {
	s := load(t, Options{PolicyFile: "../../policy/testdata/good/cached-uncached.yaml", Requests: 40, Speedup: 1000})
	t.Setenv("TMPDIR", t.TempDir())
	var stdout, stderr bytes.Buffer
	if err := Run(t.Context(), s, Output{Stdout: &stdout, Stderr: &stderr}); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(stderr.String(), "unknown_class") || !strings.Contains(stdout.String(), "40 requests named a class that the policy does not know") {
		t.Errorf("stderr %s\nstdout %s", &stderr, &stdout)
	}
}
