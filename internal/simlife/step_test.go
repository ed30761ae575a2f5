package simlife_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"fairlead/agent/engine"
	"fairlead/internal/demo"
	"fairlead/sim"
	"fairlead/wire"
)

// azurePolicy has no thresholds: first tokens, which no barrier can wait for, decide
// nothing.
const azurePolicy = `
default_policy_family: conv
uncached_isl_buckets: [{min_tokens: 0, bucket: all}]
policy_classes:
  - {name: conv, policy_family: conv, cache_bucket: all, queue_policy: fcfs, quantum: 3072}
  - {name: code, policy_family: code, cache_bucket: all, queue_policy: wspt, quantum: 1024}
`

// step is something that the simulator did and life is to do too.
type step struct {
	kind    sim.Kind // Asked or Completed
	request int
	handed  int // hand-outs by then, this step's own included
}

// script is what the simulator does, and whom it hands requests to. Workers that
// join late do so as a step of their own, of the kind Returned.
func script(t *testing.T, cfg sim.Config, late bool) (steps []step, out []handed) {
	t.Helper()
	cfg.Hop = 0
	cfg.Observe = func(h sim.Happening) {
		switch h.Kind {
		case sim.HandedOut:
			if late && len(out) == 0 {
				steps = append(steps, step{kind: sim.Returned})
			}
			out = append(out, handed{h.Request, fmt.Sprintf("gpu-%d", h.Worker+1)})
		case sim.Asked, sim.Completed:
			steps = append(steps, step{kind: h.Kind, request: h.Request})
		case sim.FirstToken:
			return
		default:
			t.Fatalf("in a plain run: %+v", h)
		}
		steps[len(steps)-1].handed = len(out)
	}
	_, err := sim.Run(cfg)
	must(t, err)
	return steps, out
}

// TestDuelInStep: the duel again, a quarter of it, in step: every hand-out is the same
// but for the order among the first ones, which one decision fills all slots with.
func TestDuelInStep(t *testing.T) {
	t.Parallel()
	d, err := demo.Load(demo.Options{Scenario: demo.ScenarioPremiumRegular})
	must(t, err)
	d.Requests = d.Requests[:160]
	steps, simulated := script(t, modelled(d, time.Second), true)
	s := newSystem(t, d.Policy)
	s.walk(d, steps)
	life := order(t, s.recorded())
	for _, list := range [][]handed{life, simulated} {
		slices.SortFunc(list[:d.Fleet.Slots], func(a, b handed) int { return a.request - b.request })
	}
	mustAgree(t, life, simulated, 0)
}

// TestAzure: simulator and broker walk in step through a slice of the Azure traces:
// each arrival and each end of a request comes once the one before has had its effect.
// Request by request the same goes to the same worker; and so it does when what was
// recorded meanwhile is played back.
func TestAzure(t *testing.T) {
	t.Parallel()
	d, err := demo.Load(demo.Options{Requests: slice})
	must(t, err)
	d.Policy = parse(t, azurePolicy)
	steps, simulated := script(t, modelled(d, 0), false)
	s := newSystem(t, d.Policy)
	s.walk(d, steps)
	rec := s.recorded()
	life := order(t, rec)
	mustAgree(t, life, simulated, 0)
	mustAgree(t, life, playBack(t, rec, d.Policy), 0)
	t.Logf("%d requests, %d steps, %d hand-outs agree", len(d.Requests), len(steps), len(life))
}

// slice is how many requests of the trace are walked through.
const slice = 300

// walk does in life what the simulator did.
func (s *system) walk(d *demo.Scenario, steps []step) {
	g := newGate()
	engines := make([]engine.Engine, d.Fleet.Workers)
	for i := range engines {
		engines[i] = g
	}
	if !d.Fleet.Late {
		s.work(d.Fleet, engines)
	}
	ids := make([]uint64, len(d.Requests))
	asked, ended := 0, 0
	for _, x := range steps {
		switch x.kind {
		case sim.Returned:
			s.work(d.Fleet, engines)
		case sim.Asked:
			p := s.ask(&d.Requests[x.request])
			s.t.Cleanup(p.Close)
			ids[x.request] = p.ID
			asked++
		default:
			g.open(ids[x.request])
			ended++
		}
		s.until("the step", func(st *wire.BrokerStatus) bool {
			queued, dispatched := 0, 0
			for _, c := range st.Classes {
				queued += c.Queued
				dispatched += int(c.Dispatched)
			}
			return g.begun() == x.handed && completed(st) == ended && dispatched == x.handed && queued == asked-x.handed
		})
	}
}
