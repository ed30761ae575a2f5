//go:build slow

package main

import (
	"context"
	"slices"
	"testing"
	"time"

	"fairlead/chaos/check"
	"fairlead/chaos/rig"
)

// lease is the brokers' default.
const lease = 5 * time.Second

// handovers is a system under load of which every claim is heard.
type handovers struct {
	t      *testing.T
	run    *run
	claims chan check.Claim
}

func newHandovers(t *testing.T) *handovers {
	t.Helper()
	h := &handovers{t: t, claims: make(chan check.Claim, 1<<16)}
	h.run = &run{
		o: options{seed: 1, rate: 60, every: time.Second, dir: t.TempDir()}, out: &printer{w: t.Output()},
		claimed: func(c check.Claim) { h.claims <- c },
	}
	t.Cleanup(h.run.close)
	if err := h.run.boot(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	asked := make(chan struct{})
	go func() { defer close(asked); h.run.load.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		<-asked
		late, give := context.WithTimeout(context.Background(), time.Minute)
		defer give()
		h.run.load.Wait(late)
	})
	return h
}

// next waits for a claim of a later epoch.
func (h *handovers) next(epoch uint64) check.Claim {
	h.t.Helper()
	late := time.After(time.Minute)
	for {
		select {
		case c := <-h.claims:
			if c.Epoch > epoch {
				return c
			}
		case <-late:
			h.t.Fatal("nobody hands out")
		}
	}
}

// measure ends the leader in some way, n times, and returns how long the next
// hand-out took, sorted. Standbys are ready each time.
func (h *handovers) measure(n int, end func(*rig.Process) error) []time.Duration {
	h.t.Helper()
	var took []time.Duration
	for range n {
		ctx, cancel := context.WithTimeout(h.t.Context(), time.Minute)
		s, err := h.run.clients[0].Status(ctx)
		if err != nil {
			h.t.Fatal(err)
		}
		i := slices.IndexFunc(h.run.rig.Brokers, func(p *rig.Process) bool { return p.Name == "broker "+s.Leader })
		leader := h.run.rig.Brokers[i]
		began := time.Since(h.run.start)
		if err := end(leader); err != nil {
			h.t.Fatal(err)
		}
		took = append(took, h.next(s.Epoch).At-began)
		if err := begin(leader); err != nil {
			h.t.Fatal(err)
		}
		if err := leader.Ready(ctx); err != nil {
			h.t.Fatal(err)
		}
		cancel()
	}
	slices.Sort(took)
	return took
}

// A leader that is told to stop hands over at once; one that is killed, when its
// lease has ended. How fast this machine is does not decide the test: the first
// must be well below a lease, the second not far above one.
func TestHandover(t *testing.T) {
	h := newHandovers(t)
	h.next(0)
	stop := h.measure(20, func(p *rig.Process) error { _, err := p.Stop(stopPatience); return err })
	t.Logf("clean stop to next hand-out: median %v, largest %v of %d", stop[len(stop)/2], stop[len(stop)-1], len(stop))
	kill := h.measure(5, func(p *rig.Process) error { p.Kill(); return nil })
	t.Logf("kill -9 to next hand-out: median %v, largest %v of %d; the lease is %v", kill[len(kill)/2], kill[len(kill)-1], len(kill), lease)
	if stop[len(stop)/2] > lease/2 {
		t.Errorf("after a clean stop the next hand-out takes %v, as if the lease had to end first", stop[len(stop)/2])
	}
	if most := kill[len(kill)-1]; most > 2*lease {
		t.Errorf("after kill -9 the next hand-out takes %v, with a lease of %v", most, lease)
	}
}
