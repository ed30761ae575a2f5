//go:build !race

package model

import "testing"

// removal takes one rule away; the violations are what it is there for.
type removal struct {
	rule   string
	remove func(*Rules)
	breaks Promise
	world  Scenario
}

func faults(list ...Fault) (b Budget) {
	for _, f := range list {
		b[f]++
	}
	return b
}

func removals() []removal {
	crashes := Scenario{Coarse: true, Faults: faults(AgentCrash, BrokerCrash, TakeOver)}
	final := Scenario{Coarse: true, Faults: faults(AgentCrash, BrokerCrash, TakeOver), Attempts: 1}
	cancels := Scenario{Coarse: true, Faults: faults(AgentCrash, BrokerCrash, TakeOver, Cancel)}
	returns := Scenario{Coarse: true, Faults: faults(BrokerCrash, TakeOver, GiveBack, AgentCrash)}
	suspects := Scenario{Coarse: true, Tokens: true, Faults: faults(Suspicion, TakeOver)}
	late := Scenario{Coarse: true, Faults: faults(Suspicion, Cancel, AgentCrash)}
	alarms := Scenario{Faults: faults(Suspicion)}
	tokens := Scenario{Coarse: true, Tokens: true, Faults: faults(AgentCrash, BrokerCrash, TakeOver)}
	two := Scenario{Coarse: true, Prompt: true, Agents: 1, Requests: 2, Faults: faults(BrokerCrash, TakeOver)}
	lags := Scenario{Coarse: true, Faults: faults(BrokerCrash, TakeOver, LaggingRead)}
	list := []removal{
		{"1 guards are written before the reads", func(r *Rules) { r.GuardsFirst = false }, Doubled, crashes},
		{"1 claims without a request are deleted", func(r *Rules) { r.DeleteOrphans = false }, WorkLeft, crashes},
		{"2 reads are complete", func(r *Rules) { r.CompleteReads = false }, Doubled, lags},
		{"2 REQ is read to its last sequence", func(r *Rules) { r.ReadToLast = false }, WorkLeft, final},
		{"3 barrier before a lost claim is touched", func(r *Rules) { r.Barrier = false }, AfterOutcome, crashes},
		{"3 barrier for what recovery finds lost", func(r *Rules) { r.RecoveryBarrier = false }, AfterOutcome, crashes},
		{"4 DONE goes after REQ", func(r *Rules) { r.PurgeAfterReq = false }, AfterOutcome, crashes},
		{"4 DONE is purged through a prefix", func(r *Rules) { r.PurgePrefix = false }, AfterOutcome, two},
		{"4 unknown requests are asked for", func(r *Rules) { r.AskUnknown = false }, AfterOutcome, two},
		{"5 a hole in DONE means recovery", func(r *Rules) { r.HoleRecovers = false }, AfterOutcome, crashes},
		{"5 a hole is seen at the barrier too", func(r *Rules) { r.HoleAtBarrier = false }, AfterOutcome, crashes},
		{"5 a claim that is nowhere means recovery", func(r *Rules) { r.CheckClaim = false }, Leaked, crashes},
		{"6 leftover claims are deleted", func(r *Rules) { r.DropLeftovers = false }, WorkLeft, crashes},
		{"6 no lost agent is left to acknowledge", func(r *Rules) { r.LostIsDropped = false }, WorkLeft, late},
		{"7 new claim first", func(r *Rules) { r.NewClaimFirst = false }, AttemptReused, crashes},
		{"7 attempt numbers rise", func(r *Rules) { r.AttemptsRise = false }, AttemptReused, crashes},
		{"7 recovery takes the highest attempt", func(r *Rules) { r.HighestClaim = false }, AttemptReused, crashes},
		{"7 only started attempts count", func(r *Rules) { r.CountStarted = false }, Untried, final},
		{"8 a verdict is stored first", func(r *Rules) { r.StoreVerdict = false }, CancelForgot, cancels},
		{"8 and fenced", func(r *Rules) { r.FenceVerdict = false }, StaleWrite, cancels},
		{"8 and deleted last", func(r *Rules) { r.VerdictLast = false }, AfterOutcome, final},
		{"8 told before the request is deleted", func(r *Rules) { r.TellBeforeDelete = false }, Unburied, final},
		{"claims are fenced", func(r *Rules) { r.FenceClaims = false }, StaleWrite, crashes},
		{"9 no broker stops a newer one's claim", func(r *Rules) { r.OwnEpochOnly = false }, FalseLoss, tokens},
		{"10 a DONE that gave back is kept", func(r *Rules) { r.KeepReturned = false }, AttemptReused, returns},
		{"10 also that of an attempt not known", func(r *Rules) { r.KeepUnknown = false }, AttemptReused, returns},
		{"11 final before DONE", func(r *Rules) { r.FinalBeforeDone = false }, Lost, crashes},
		{"11 DONE before the acknowledgement", func(r *Rules) { r.DoneBeforeAck = false }, AfterOutcome, crashes},
		{"12 sequences are fresh", func(r *Rules) { r.FreshSequences = false }, StaleWrite, Scenario{Coarse: true, Faults: faults(Recreate)}},
		{"13 a client shows one attempt", func(r *Rules) { r.OneAttemptShown = false }, Mixed, tokens},
		{"13 no attempt after a first token", func(r *Rules) { r.NoRerunAfterHear = false }, AfterFirst, tokens},
		{"13 not after one that was given back, either", func(r *Rules) { r.NoRerunReturned = false }, AfterFirst, suspects},
		{"14 a request that is gone alarms nobody", func(r *Rules) { r.GoneIsSilent = false }, FalseAlarm, alarms},
	}
	for _, order := range []string{"WRD", "DWR", "DRW", "RWD", "RDW"} {
		list = append(list, removal{"1 order of reads: " + order, func(r *Rules) { r.Order = order }, AfterOutcome, crashes})
	}
	return list
}

// hunt explores without the rule until that shows.
func (x removal) hunt() *Result {
	sc := x.world
	sc.Rules, sc.Limit = All(), 4_000_000
	x.remove(&sc.Rules)
	return Hunt(sc, x.breaks)
}

// TestEveryRuleIsNeeded removes one rule after another, and expects the violation
// that it is there to prevent.
func TestEveryRuleIsNeeded(t *testing.T) {
	for _, x := range removals() {
		t.Run(x.rule, func(t *testing.T) {
			t.Parallel()
			r := x.hunt()
			t.Log(r)
			if r.Broken&x.breaks == 0 {
				t.Errorf("nothing breaks without it: want %v\n%s", x.breaks, r.Traces())
			}
		})
	}
}
