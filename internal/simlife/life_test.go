package simlife_test

import (
	"math"
	"testing"
	"time"

	"fairlead/agent/engine"
	"fairlead/agent/engine/mock"
	"fairlead/client"
	"fairlead/internal/demo"
	"fairlead/sim"
	"fairlead/wire"
)

// TestDuel: 320 premium and 320 regular requests wait for one worker. Played back
// from its recording, the simulator hands out in the order of life, but for claims that
// were on their way at once; with the model's own times, shares agree.
func TestDuel(t *testing.T) {
	t.Parallel()
	d, err := demo.Load(demo.Options{Scenario: demo.ScenarioPremiumRegular})
	must(t, err)
	s := newSystem(t, d.Policy)
	life := s.live(d)
	rec := s.recorded()
	if len(rec.Requests) != len(d.Requests) {
		t.Fatalf("%d requests were recorded, %d asked", len(rec.Requests), len(d.Requests))
	}
	mustAgree(t, order(t, rec), playBack(t, rec, d.Policy), d.Fleet.Slots)

	r, err := sim.Run(asked(d))
	must(t, err)
	mustShare(t, d, life.Classes, r)
}

// live asks a whole scenario, then lets its workers come, so that what waits for what
// does not depend on how fast this machine is. It returns when all is done.
func (s *system) live(d *demo.Scenario) wire.BrokerStatus {
	s.t.Helper()
	pending := make([]*client.Pending, len(d.Requests))
	for i := range d.Requests {
		pending[i] = s.ask(&d.Requests[i])
		s.t.Cleanup(pending[i].Close)
	}
	engines := make([]engine.Engine, d.Fleet.Workers)
	for i := range engines {
		m, err := mock.New(d.Fleet.Engine)
		must(s.t, err)
		s.t.Cleanup(func() { must(s.t, m.Close()) })
		engines[i] = m
	}
	s.work(d.Fleet, engines)
	for _, p := range pending {
		if _, err := p.Result(s.ctx); err != nil {
			s.t.Fatal(err)
		}
	}
	return s.until("all are counted", func(st *wire.BrokerStatus) bool { return completed(st) == len(pending) })
}

func completed(st *wire.BrokerStatus) int {
	n := 0
	for _, c := range st.Classes {
		n += int(c.Completed)
	}
	return n
}

// modelled is a scenario for the simulator, in the time of its trace.
func modelled(d *demo.Scenario, join time.Duration) sim.Config {
	cfg := sim.Config{Policy: d.Policy, Hop: time.Millisecond}
	for range d.Fleet.Workers {
		cfg.Workers = append(cfg.Workers, sim.Worker{Engine: d.Fleet.Engine, Slots: d.Fleet.Slots, Join: join})
	}
	for _, r := range d.Requests {
		cfg.Requests = append(cfg.Requests, sim.Request{
			At: time.Duration(float64(r.At) * d.Speedup), Class: r.Name, Model: "mock", Input: r.Input, Cached: r.Cached, Output: r.Output,
		})
	}
	return cfg
}

// asked is the same scenario asked as [system.live] asks it: all of it, then workers come.
func asked(d *demo.Scenario) sim.Config {
	cfg := modelled(d, time.Duration(len(d.Requests))*time.Millisecond)
	for i := range cfg.Requests {
		cfg.Requests[i].At = time.Duration(i) * time.Millisecond
	}
	return cfg
}

// mustShare compares the broker's account of life with that of the simulation.
func mustShare(t *testing.T, d *demo.Scenario, life []wire.ClassStatus, r *sim.Result) {
	t.Helper()
	for _, c := range d.Classes {
		lived, simulated := share(t, life, "mock", c.Name), share(t, r.Broker, "mock", c.Name)
		t.Logf("%s: %.4f in life, %.4f simulated, %.4f due", c.Name, lived, simulated, c.Entitlement)
		if math.Abs(lived-simulated) > .01 {
			t.Errorf("%s: %.4f in life, %.4f simulated", c.Name, lived, simulated)
		}
	}
}

// TestAzureShares: with the model's times in place of life's, the classes of the Azure
// traces have the same shares while both wait.
func TestAzureShares(t *testing.T) {
	t.Parallel()
	d, err := demo.Load(demo.Options{Requests: 600, Speedup: 16})
	must(t, err)
	s := newSystem(t, d.Policy)
	life := s.live(d)
	r, err := sim.Run(asked(d))
	must(t, err)
	mustShare(t, d, life.Classes, r)
}
