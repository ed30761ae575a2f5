package demo

import (
	"time"

	"fairlead/agent/engine/mock"
)

const (
	duelEach    = 320 // requests of each class
	duelTokens  = 512 // of each prompt
	duelOutput  = 16  // tokens of each answer
	duelSpeedup = 20
)

// duel asks two floods at once of one worker that comes late. What is dispatched
// then depends on the quanta alone: at 4 : 1, 256 of the first 320 are premium,
// and 240 regular ones are left when the last premium one completes. Four slots
// finish in any order among themselves, which blurs a count by a few.
func duel(o Options) (*Scenario, error) {
	s := &Scenario{
		Title:   "premium and regular, 320 requests of 512 tokens each, quanta 512 : 128",
		Speedup: duelSpeedup,
		Duel:    &Duel{Premium: "premium", Regular: "regular", First: duelEach},
		Fleet: Fleet{Workers: 1, Slots: 4, Late: true, Engine: mock.Config{
			Models: []string{model}, Slots: 4, PrefillRate: 20_000, TokenTime: 20 * time.Millisecond, Stride: 4,
		}},
	}
	if o.Speedup != 0 {
		s.Speedup = o.Speedup
	}
	s.Fleet.Engine.Speedup = s.Speedup
	text := premiumRegularYAML
	if o.Scenario == ScenarioEqual {
		s.Title = "control: premium and regular, 320 requests of 512 tokens each, quanta 512 : 512"
		text = equalYAML()
	}
	for range duelEach {
		for _, name := range []string{s.Duel.Premium, s.Duel.Regular} {
			s.Requests = append(s.Requests, Request{Name: name, Input: duelTokens, Output: duelOutput})
		}
	}
	var err error
	s.Policy, err = parseOwn(text)
	return s, err
}
