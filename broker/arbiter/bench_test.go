package arbiter

import (
	"testing"
	"time"

	"fairlead/wire"
)

// BenchmarkStep is the life of a request on one worker: it arrives, is handed out,
// its claim is stored, it is done. A heartbeat comes with every 64 requests.
func BenchmarkStep(b *testing.B) {
	for _, c := range []struct {
		name    string
		backlog int
	}{{"empty", 0}, {"backlog=100k", 100_000}} {
		b.Run(c.name, func(b *testing.B) { benchStep(b, c.backlog) })
	}
}

func benchStep(b *testing.B, backlog int) {
	a := New(Config{Policy: twoClasses(512, 128, 0)})
	now := time.Unix(1_700_000_000, 0)
	a.Step(now, Recovered{})
	beat := wire.Heartbeat{Worker: "w1", Incarnation: 1, IntervalMS: 1000, Healthy: true, Models: []string{"m"}, Ranks: 1, Slots: 4}
	id, handed := uint64(0), HandOut{}
	step := func(ev Event) {
		now = now.Add(time.Microsecond)
		for _, act := range a.Step(now, ev) {
			if h, ok := act.(HandOut); ok {
				handed = h
			}
		}
	}
	arrive := func() {
		id++
		q := wire.Request{Class: "premium", Model: "m", Input: 512, Rank: wire.AnyRank}
		if id%5 == 0 {
			q.Class = "regular"
		}
		step(Arrived{ID: id, At: now, Request: q})
	}
	for range backlog {
		arrive()
	}
	heartbeat := func() {
		beat.Seq++
		step(Beat{beat})
	}
	heartbeat()
	seq := uint64(0)
	b.ReportAllocs()
	b.ResetTimer()
	for i := range b.N {
		arrive()
		c := handed.Claim
		seq++
		step(HandedOut{ID: c.ID, Attempt: c.Attempt, Seq: seq})
		step(Done{Seq: seq, Done: wire.Done{ID: c.ID, Attempt: c.Attempt, Claim: seq, Worker: "w1", Incarnation: 1, Status: wire.StatusOK}})
		if i%64 == 0 {
			heartbeat()
		}
	}
}
