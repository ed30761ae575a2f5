package arbiter

import (
	"fmt"
	"testing"
	"time"

	"fairlead/wire"
)

// TestInventedModels: however many models clients make up, few get a ring, the rest
// is refused at once, and who asks for what is served notices nothing.
func TestInventedModels(t *testing.T) {
	for _, c := range []struct {
		workers int
		want    wire.Reason
	}{{1, wire.ModelNotFound}, {0, wire.NoWorker}} {
		t.Run(fmt.Sprintf("%d workers", c.workers), func(t *testing.T) {
			a := New(Config{})
			now, id := time.Unix(1_700_000_000, 0), uint64(0)
			a.Step(now, Recovered{})
			for range c.workers {
				a.Step(now, Beat{wire.Heartbeat{Worker: "w", Incarnation: 1, Seq: 1, IntervalMS: 60_000, Healthy: true, Models: []string{"m"}, Slots: 1}})
			}
			ask := func(model string) (handedOut bool) {
				id++
				q := wire.Request{Model: model, Rank: wire.AnyRank}
				foretold := a.explainNew(q, now)
				acts := a.Step(now, Arrived{ID: id, At: now, Request: q})
				refused := false
				for _, act := range append([]Action(nil), acts...) {
					switch act := act.(type) {
					case HandOut:
						handedOut = true
					case StoreVerdict:
						refused = true
						if act.Verdict.Reason != c.want {
							t.Fatalf("request %d: %+v", id, act.Verdict)
						}
						a.Step(now, VerdictStored{Seq: id, Verdict: act.Verdict})
						a.Step(now, Ended{ID: id})
					}
				}
				if refused != (foretold.Prospect == wire.ProspectRefused) {
					t.Fatalf("request %d: refused: %t, foretold: %+v", id, refused, foretold)
				}
				return handedOut
			}
			for i := range 3 * mostUnserved {
				ask(fmt.Sprintf("x%d", i))
				ask(fmt.Sprintf("x%d", i/3)) // has a ring
			}
			if n := len(a.order); n > mostUnserved+1+c.workers { // beside them the unnamed one, and that of a served model
				t.Errorf("%d rings", n)
			}
			if c.workers > 0 && !ask("m") {
				t.Error("a request for a model that is served was not handed out")
			}
			if err := a.invariants(); err != nil {
				t.Error(err)
			}
		})
	}
}
