//go:build !race

package model

import (
	"testing"
	"time"
)

// every is every fault once, save for those that the protocol excludes: reads
// are complete, and the limits below have tests of their own.
func every(except ...Fault) (b Budget) {
	for f := range b {
		b[f] = 1
	}
	for _, f := range append(except, LaggingRead, ForgetIDs, Recreate) {
		b[f] = 0
	}
	return b
}

// check explores a scenario under all rules, and expects that nothing breaks.
func check(t *testing.T, sc Scenario) {
	t.Helper()
	t.Run(sc.Name, func(t *testing.T) {
		t.Parallel()
		sc.Rules = All()
		began := time.Now()
		r := Explore(sc)
		t.Logf("%v, %.1f s", r, time.Since(began).Seconds())
		if r.Broken != 0 {
			t.Errorf("broken: %v\n%s", r.Broken, r.Traces())
		}
		if r.Ends == 0 {
			t.Error("no world comes to an end: nothing was checked there")
		}
		if !r.Whole && sc.Limit == 0 || r.Capped != 0 {
			t.Errorf("not everything was explored: %v", r)
		}
	})
}

// TestPromisesHold explores what stays small.
func TestPromisesHold(t *testing.T) {
	crashes := faults(AgentCrash, BrokerCrash, TakeOver)
	for _, sc := range []Scenario{
		{Name: "no faults, two requests", Requests: 2},
		{Name: "crashes of both kinds and a take-over", Faults: crashes},
		{Name: "the same with first tokens", Faults: crashes, Tokens: true, Coarse: true},
		{Name: "the same with retries after the first token", Faults: crashes, Tokens: true, Retry: true, Coarse: true},
		{Name: "the same with one attempt allowed", Faults: crashes, Attempts: 1},
		{Name: "a deadline and the store's own, with crashes", Faults: faults(Deadline, StoreTTL, AgentCrash, BrokerCrash), Coarse: true},
		{Name: "false suspicion and a broker crash", Faults: faults(Suspicion, BrokerCrash), Tokens: true},
		{Name: "every pair of faults, one agent", Faults: every(), Total: 2, Agents: 1, Tokens: true, Coarse: true},
		{Name: "two requests, one fault", Requests: 2, Faults: every(Suspicion), Total: 1, Agents: 1, Coarse: true},
	} {
		check(t, sc)
	}
}

// TestStaleSequencesAreRefused: with WORK gone nothing else can be promised.
func TestStaleSequencesAreRefused(t *testing.T) {
	t.Parallel()
	r := Hunt(Scenario{Rules: All(), Coarse: true, Faults: faults(Recreate)}, StaleWrite)
	if r.Broken&StaleWrite != 0 || !r.Whole {
		t.Errorf("%v\n%s", r, r.Trace(StaleWrite))
	}
}

// TestDedupIDsAreDefenceInDepth: while attempt numbers are never reused, no claim
// can have the id of another leader's.
func TestDedupIDsAreDefenceInDepth(t *testing.T) {
	t.Parallel()
	sc := Scenario{Coarse: true, Faults: faults(AgentCrash, BrokerCrash, TakeOver), Rules: All()}
	sc.Rules.EpochInDedupID = false
	if r := Explore(sc); r.Broken != 0 || !r.Whole {
		t.Errorf("it is needed after all, and belongs among the rules that are: %v\n%s", r, r.Traces())
	}
}

// TestLimits shows what the protocol does not prevent, so that nobody believes it
// does: see the package's documentation.
func TestLimits(t *testing.T) {
	for _, x := range []struct {
		name   string
		faults Budget
		breaks Promise
	}{
		{"a claim's answer is lost and its id forgotten", faults(LostAnswer, ForgetIDs), SameAttempt},
		{"the id of a dead letter is forgotten between two leaders", faults(AgentCrash, BrokerCrash, ForgetIDs), BuriedTwice},
	} {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			r := Hunt(Scenario{Rules: All(), Coarse: true, Attempts: 1, Faults: x.faults}, x.breaks)
			if r.Broken&x.breaks == 0 {
				t.Errorf("no longer broken: %v\nif a rule prevents it now, say so in the documentation", x.breaks)
			}
		})
	}
}
