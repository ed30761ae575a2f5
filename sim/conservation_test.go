//go:build !race

package sim

import (
	"maps"
	"slices"
	"testing"
	"time"
)

// TestWorkConservation: with instant messages nobody waits in a shared lane that a
// worker could take, by the workers' own count. Fleets, policies and faults are
// random.
func TestWorkConservation(t *testing.T) {
	looks, waits := 0, 0
	for seed := range uint64(300) {
		cfg := randomWorld(t, seed)
		cfg.Hop = 0
		s, err := New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		for s.Advance(1) {
			if s.wire.size > 0 {
				continue
			}
			looks++
			waits += s.mustBeBusy(t, seed)
		}
		if s.broken != nil {
			t.Fatalf("seed %d: %v", seed, s.broken)
		}
	}
	t.Logf("%d looks, %d times a class waited", looks, waits)
	if waits < 10_000 {
		t.Error("hardly anything ever waited")
	}
}

// mustBeBusy looks for a class that waits and a worker that could take its next
// request; it counts the classes that wait.
func (s *Sim) mustBeBusy(t *testing.T, seed uint64) (waits int) {
	t.Helper()
	waiting, choosy := map[*group]bool{}, map[*group]bool{}
	for i := range s.next {
		l, r := &s.lives[i], &s.cfg.Requests[i]
		switch {
		case l.ended || l.running:
		case r.Where != nil: // it may be the head of the shared lane, and nobody looks past it
			choosy[l.class] = true
		case r.Worker != "":
		default:
			waiting[l.class] = true
		}
	}
	maps.DeleteFunc(waiting, func(g *group, _ bool) bool { return choosy[g] })
	for g := range waiting {
		eligible, busy := 0, 0
		for _, w := range s.fleet {
			if !w.up || !slices.Contains(w.spec.Engine.Models, g.Model) {
				continue
			}
			eligible++
			if w.busyFor(g) {
				busy++
			}
		}
		could := busy < eligible
		if r := g.class.BusyWorkerRatio; r != nil {
			could = s.counted(g.Model) == eligible && float64(busy) < *r*float64(eligible)
		}
		if could {
			t.Fatalf("seed %d at %v: class %s waits, and %d of %d workers have room", seed, time.Duration(s.now), g.Class, eligible-busy, eligible)
		}
	}
	return len(waiting)
}

// counted is how many workers the arbiter knows for a model: a dead one counts until
// it is missed.
func (s *Sim) counted(model string) int {
	for _, m := range s.arb.Models() {
		if m.Name == model {
			return m.Workers
		}
	}
	return 0
}

// busyFor is the rule of the policy, by what the worker itself has.
func (w *worker) busyFor(g *group) bool {
	if w.holdUntil > w.s.now {
		return true
	}
	for rank := range w.spec.Ranks {
		used, prefill := 0, int64(0)
		for _, j := range w.order {
			if max(0, int(j.claim.Rank)) != rank {
				continue
			}
			used++
			if j.first == 0 {
				prefill += max(1, int64(j.uncached()))
			}
		}
		full := used >= w.spec.Slots
		if limit := g.class.PrefillBusyThreshold; limit != nil && prefill > *limit {
			full = true
		}
		if frac := g.class.PrefillBusyFrac; frac != nil && float64(prefill) > *frac*float64(w.spec.Engine.MaxBatched) {
			full = true
		}
		if !full {
			return false
		}
	}
	return true
}
