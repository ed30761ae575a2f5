package arbiter

import (
	"testing"
	"time"

	"fairlead/wire"
)

// TestNewerLeader: a report about a request or an attempt that this arbiter never
// handed out is a newer leader's. It must stay in DONE, whatever this one thinks.
func TestNewerLeader(t *testing.T) {
	a := New(Config{})
	now := time.Unix(1000, 0)
	a.Step(now, Recovered{})
	a.Step(now, Beat{wire.Heartbeat{Worker: "w1", Incarnation: 10, Seq: 1, IntervalMS: 1000, Healthy: true, Models: []string{"m"}, Slots: 2}})
	a.Step(now, Arrived{ID: 1, At: now, Request: wire.Request{Class: "default", Input: 5, Rank: wire.AnyRank}})
	a.Step(now, HandedOut{ID: 1, Attempt: 1, Seq: 100})
	for name, d := range map[string]wire.Done{
		"attempt":        {ID: 1, Attempt: 2, Claim: 200, Status: wire.StatusReturned},
		"request":        {ID: 9, Attempt: 1, Claim: 201, Status: wire.StatusReturned},
		"failed attempt": {ID: 1, Attempt: 3, Claim: 202, Status: wire.StatusError},
	} {
		d.Worker, d.Incarnation = "w1", 10
		for _, act := range a.Step(now, Done{Seq: 5, Done: d}) {
			if _, released := act.(ReleaseDone); released {
				t.Errorf("%s: the report of a newer leader was released", name)
			}
		}
	}
	released := false
	for _, act := range a.Step(now, Arrived{ID: 10, At: now, Request: wire.Request{Class: "default", Input: 5, Rank: wire.AnyRank}}) {
		_, ok := act.(ReleaseDone)
		released = released || ok
	}
	if !released {
		t.Error("REQ has been read beyond request 9, which is not in it, and its report stays")
	}
}
