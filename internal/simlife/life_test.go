package simlife_test

import (
	"bytes"
	"encoding/json"
	"io"
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
	pending := make([]*client.Pending, len(d.Requests))
	for i := range d.Requests {
		pending[i] = s.ask(&d.Requests[i])
		t.Cleanup(pending[i].Close)
	}
	m, err := mock.New(d.Fleet.Engine)
	must(t, err)
	t.Cleanup(func() { must(t, m.Close()) })
	s.work(d.Fleet, []engine.Engine{m})
	for _, p := range pending {
		if _, err := p.Result(s.ctx); err != nil {
			t.Fatal(err)
		}
	}
	life := s.until("all are counted", func(st *wire.BrokerStatus) bool { return completed(st) == len(pending) })
	rec := s.recorded()
	if len(rec.Requests) != len(pending) {
		t.Fatalf("%d requests were recorded, %d asked", len(rec.Requests), len(pending))
	}
	mustAgree(t, order(t, rec), playBack(t, rec, d.Policy), d.Fleet.Slots)

	r, err := sim.Run(modelled(d, time.Second))
	must(t, err)
	mustShare(t, d, life.Classes, r)
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
	var out bytes.Buffer
	must(t, demo.Run(t.Context(), d, demo.Output{Stdout: &out, Stderr: io.Discard, JSON: true}))
	var life struct {
		Classes map[string]struct {
			Share float64 `json:"token_share"`
		}
	}
	must(t, json.Unmarshal(out.Bytes(), &life))
	r, err := sim.Run(modelled(d, 0))
	must(t, err)
	var status []wire.ClassStatus
	for name, c := range life.Classes {
		status = append(status, wire.ClassStatus{Model: "mock", Class: name, Share: c.Share})
	}
	mustShare(t, d, status, r)
}
