//go:build slow && !race

package model

import "testing"

// TestPromisesHoldSlow explores more, in less than two minutes on two cores.
func TestPromisesHoldSlow(t *testing.T) {
	twice := faults(AgentCrash, AgentCrash, BrokerCrash, BrokerCrash, TakeOver)
	suspicion := faults(Suspicion, BrokerCrash, TakeOver)
	for _, sc := range []Scenario{
		{Name: "every three faults, one agent", Agents: 1, Faults: every(), Total: 3, Coarse: true, Prompt: true},
		{Name: "two requests, every fault", Requests: 2, Agents: 1, Faults: every(), Total: 1, Coarse: true, Prompt: true},
		{Name: "two crashes of each kind and a take-over", Agents: 1, Faults: twice, Coarse: true, Prompt: true},
		{Name: "every pair of faults, two agents", Faults: every(), Total: 2, Tokens: true, Coarse: true},
		{Name: "every pair of faults, one attempt allowed", Agents: 1, Faults: every(), Total: 2, Attempts: 1},
		{Name: "false suspicion, a broker crash, a take-over", Faults: suspicion, Coarse: true},
		{Name: "part of: two requests, every pair of faults", Requests: 2, Agents: 1, Faults: every(Suspicion), Total: 2, Coarse: true, Prompt: true, Limit: 3_000_000},
	} {
		check(t, sc)
	}
}
