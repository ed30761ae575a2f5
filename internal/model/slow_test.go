//go:build slow && !race

package model

import "testing"

// TestPromisesHoldSlow explores more at once, in about two minutes on two cores.
func TestPromisesHoldSlow(t *testing.T) {
	twice := faults(AgentCrash, AgentCrash, BrokerCrash, BrokerCrash, TakeOver)
	suspicion := faults(Suspicion, BrokerCrash, TakeOver)
	for _, sc := range []Scenario{
		{Name: "two crashes of each kind and a take-over", Faults: twice, Coarse: true, Agents: 1},
		{Name: "false suspicion, a broker crash, a take-over", Faults: suspicion, Coarse: true},
		{Name: "every pair of faults, two agents", Faults: every(), Total: 2, Tokens: true, Coarse: true},
		{Name: "every pair of faults, one attempt allowed", Faults: every(), Total: 2, Attempts: 1, Agents: 1},
		{Name: "every three faults, one agent", Faults: every(), Total: 3, Agents: 1, Coarse: true, Limit: 12_000_000},
		{Name: "two requests, every fault", Requests: 2, Faults: every(), Total: 1, Agents: 1, Coarse: true, Limit: 12_000_000},
		{Name: "two requests, every pair of faults", Requests: 2, Faults: every(Suspicion), Total: 2, Agents: 1, Coarse: true, Limit: 12_000_000},
	} {
		check(t, sc)
	}
}
