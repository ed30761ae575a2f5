package demo

import (
	"fmt"
	"slices"
	"time"

	"fairlead/agent/engine/mock"
	"fairlead/policy"
)

// model is what the mock engines serve; every request names it, so that all of
// them are in one ring from the start, whenever the workers come.
const model = "mock"

// Scenario is everything that is decided before anything runs.
type Scenario struct {
	Title     string
	Policy    *policy.Policy
	Classes   []Class   // of the policy, in ring order
	Requests  []Request // by At
	Frontends int
	Speedup   float64
	Fleet     Fleet
	Duel      *Duel // of the scenarios with a known outcome, else nil
	Unknown   int   // of Requests, that name a class which the policy does not know

	// Patience is for how long nothing at all may happen while requests are open,
	// before they are given up as lost.
	Patience time.Duration
}

// patience of engines that run at their nominal speed or faster; slower ones get
// more.
const patience = 30 * time.Second

// Class is a physical class of the policy.
type Class struct {
	Name        string
	Entitlement float64 // quantum over the sum of quanta, 0 to 1
}

// Request is one request to ask.
type Request struct {
	At       time.Duration // after the start, by the wall clock
	Name     string        // class or family that it asks for
	Class    int           // physical class that the policy makes of it, index into Scenario.Classes
	Frontend int           // that asks it
	Input    uint32        // prompt tokens, at least 1
	Cached   uint32        // of them in the engine's prefix cache
	Output   uint32        // tokens to generate, at least 1
}

// Uncached is what the prompt costs, in tokens.
func (r Request) Uncached() int64 { return int64(r.Input - r.Cached) }

// Fleet is the workers.
type Fleet struct {
	Workers int
	Slots   int         // of each
	Engine  mock.Config // of each; the seed differs
	Late    bool        // they join only after every request is acknowledged
}

// Duel says what to count when two floods compete.
type Duel struct {
	Premium, Regular string // names that requests ask for
	First            int    // completions to look at
}

// Load makes the scenario that the options describe, and reads the files they
// name. Its error names the flag, or the file and the place in it.
func Load(o Options) (*Scenario, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	build := replay
	if o.Scenario == ScenarioPremiumRegular || o.Scenario == ScenarioEqual {
		build = duel
	}
	s, err := build(o)
	if err != nil {
		return nil, err
	}
	s.Frontends = max(o.Frontends, 1)
	s.Patience = time.Duration(float64(patience) * max(1, 1/s.Speedup))
	s.Fleet.Engine.Seed = o.Seed
	if o.Workers != 0 {
		s.Fleet.Workers = o.Workers
	}
	if o.PolicyFile != "" {
		if s.Policy, err = readPolicy(o.PolicyFile); err != nil {
			return nil, err
		}
	}
	s.resolve()
	return s, s.spread(o.Skew)
}

// resolve finds the physical class of every request, as the broker will.
func (s *Scenario) resolve() {
	profile := s.Policy.Profile(model)
	quanta := int64(0)
	for i := range profile.Classes {
		quanta += profile.Classes[i].Quantum
	}
	for i := range profile.Classes {
		c := &profile.Classes[i]
		s.Classes = append(s.Classes, Class{Name: c.Name, Entitlement: float64(c.Quantum) / float64(quanta)})
	}
	for i := range s.Requests {
		r := &s.Requests[i]
		found := profile.Resolve(r.Name, r.Uncached())
		r.Class = found.Class
		if !found.Known {
			s.Unknown++
		}
	}
}

// spread gives every request a frontend: in turn, or with skew by its name.
func (s *Scenario) spread(skew bool) error {
	var names []string
	for i := range s.Requests {
		r := &s.Requests[i]
		if !slices.Contains(names, r.Name) {
			names = append(names, r.Name)
		}
		if skew {
			r.Frontend = slices.Index(names, r.Name)
		} else {
			r.Frontend = i % s.Frontends
		}
	}
	if skew && len(names) > s.Frontends {
		return fmt.Errorf("--skew: %d classes are asked for, and each wants a frontend of its own; give --frontends %d", len(names), len(names))
	}
	return nil
}
