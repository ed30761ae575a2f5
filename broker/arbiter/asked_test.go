package arbiter

import (
	"fmt"
	"testing"
	"time"

	"fairlead/drr"
	"fairlead/wire"
)

// TestHeadsAsked: what happens to one worker asks about the heads that may wait
// for it, however many others wait for other workers.
func TestHeadsAsked(t *testing.T) {
	const workers = 50
	a := New(Config{Policy: twoClasses(512, 128, 1000)})
	now, id, asked := time.Unix(1_700_000_000, 0), uint64(0), 0
	step := func(ev Event) int {
		asked = 0
		for _, act := range a.Step(now, ev) {
			if h, ok := act.(HandOut); ok {
				a.Step(now, HandedOut{ID: h.Claim.ID, Attempt: h.Claim.Attempt, Seq: h.Claim.ID})
			}
		}
		return asked
	}
	beat := func(i int) Beat {
		return Beat{wire.Heartbeat{
			Worker: fmt.Sprintf("w%d", i), Incarnation: 1, Seq: id + 1, IntervalMS: 60_000, Healthy: true, Models: []string{"m"}, Slots: 1,
		}}
	}
	ask := func(worker string) int {
		id++
		return step(Arrived{ID: id, At: now, Request: wire.Request{
			Class: []string{"premium", "regular"}[id%2], Model: "m", Worker: worker, Input: 100, Rank: wire.AnyRank,
		}})
	}
	step(Recovered{})
	for i := range workers {
		step(beat(i))
	}
	in := a.ring("m")
	gate := in.gate
	in.gate = func(class int, to drr.Target, head *drr.Entry) drr.Answer {
		asked++
		return gate(class, to, head)
	}
	for range workers { // one for each slot
		ask("")
	}
	most := 0
	for i := range 4 * workers {
		most = max(most, ask(""), ask(fmt.Sprintf("w%d", i%workers)))
	}
	if most > 2 {
		t.Errorf("a request that arrives behind others asked about %d heads", most)
	}
	if n := step(beat(3)); n != 0 {
		t.Errorf("a heartbeat without news asked about %d heads", n)
	}
	// One slot is free again: two shared lanes and the exact ones of this worker,
	// and again when it has been given away.
	done := wire.Done{ID: 1, Attempt: 1, Claim: 1, Worker: a.requests[1].booking.worker.name, Incarnation: 1, Status: wire.StatusOK}
	if n := step(Done{Seq: 1, Done: done}); n < 2 || n > 8 {
		t.Errorf("a slot that became free asked about %d heads, of %d lanes that wait", n, workers+2)
	}
	if err := a.invariants(); err != nil {
		t.Error(err)
	}
}
