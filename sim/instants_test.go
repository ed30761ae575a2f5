//go:build !race

package sim

import (
	"slices"
	"testing"
	"time"

	"fairlead/wire"
)

// TestInstants plays a run back from what was seen of it: hand-outs come in the same
// order within a microsecond, though no engine is modelled.
func TestInstants(t *testing.T) {
	for seed := range uint64(40) {
		cfg := randomWorld(t, seed)
		cfg.Workers = slices.DeleteFunc(cfg.Workers, func(w Worker) bool { return w.MTBF > 0 })
		for i := range cfg.Workers {
			cfg.Workers[i].Engine.Failures, cfg.Workers[i].CacheTokens = nil, 0
		}
		for i := range cfg.Policy.Root.Classes { // first tokens and ends at one instant are not told apart
			c := &cfg.Policy.Root.Classes[i]
			c.PrefillBusyThreshold, c.PrefillBusyFrac, c.BusyWorkerRatio = nil, nil, nil
		}
		if len(cfg.Workers) == 0 {
			continue
		}
		first, record := recorded(t, cfg)
		cfg.Requests, cfg.Times = record, Instants
		for i := range cfg.Workers { // what they could do is no matter
			cfg.Workers[i].Engine.TokenTime = time.Second
		}
		again, _ := recorded(t, cfg)
		if len(again) != len(first) {
			t.Fatalf("seed %d: %d hand-outs, and %d when played back", seed, len(first), len(again))
		}
		for i := range first {
			if first[i].Request != again[i].Request || first[i].Worker != again[i].Worker || (again[i].At-first[i].At).Abs() > time.Microsecond {
				t.Fatalf("seed %d, hand-out %d of %d: %+v, and played back %+v", seed, i, len(first), first[i], again[i])
			}
		}
	}
}

// recorded runs a configuration, and returns the hand-outs and the requests with the
// times of their attempts.
func recorded(t *testing.T, cfg Config) (handed []Happening, requests []Request) {
	requests = slices.Clone(cfg.Requests)
	for i := range requests {
		requests[i].Attempts = nil
	}
	tick := time.Duration(0) // tells apart what happened at one instant
	cfg.Observe = func(h Happening) {
		a := &requests[h.Request].Attempts
		tick++
		switch h.Kind {
		case HandedOut:
			handed = append(handed, h)
			*a = append(*a, Attempt{Handed: h.At, Cached: int64(cfg.Requests[h.Request].Cached)})
		case FirstToken:
			(*a)[len(*a)-1].First = h.At + tick
		case Completed, Failed:
			last := &(*a)[len(*a)-1]
			last.End, last.Status, last.Reason = h.At-cfg.Hop+tick, wire.StatusOK, h.Reason
			if h.Kind == Failed {
				last.Status = wire.StatusError
			}
		}
	}
	run(t, cfg)
	return handed, requests
}
