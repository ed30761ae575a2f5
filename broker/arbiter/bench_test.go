package arbiter

import (
	"strconv"
	"testing"
	"time"

	"fairlead/wire"
)

// BenchmarkStep is the life of a request on one worker: it arrives, is handed out,
// its claim is stored, it is done. Heartbeats come with every 64 requests. Of many
// workers all but one are full.
func BenchmarkStep(b *testing.B) {
	for _, c := range []struct {
		name                      string
		backlog, workers, tenants int
	}{
		{name: "empty", workers: 1}, {name: "backlog=100k", backlog: 100_000, workers: 1},
		{name: "backlog=100k/workers=1000", backlog: 100_000, workers: 1000},
		{name: "backlog=100k/tenants=1000", backlog: 100_000, workers: 1, tenants: 1000},
	} {
		b.Run(c.name, func(b *testing.B) { benchStep(b, c.backlog, c.workers, c.tenants) })
	}
}

func benchStep(b *testing.B, backlog, workers, tenants int) {
	p := twoClasses(512, 128, 0)
	for i := range p.Root.Classes {
		p.Root.Classes[i].Tenants = tenants > 0
	}
	names := make([]string, max(1, tenants))
	for i := range tenants {
		names[i] = "tenant-" + strconv.Itoa(i)
	}
	a := New(Config{Policy: p})
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
		q := wire.Request{Class: "premium", Model: "m", Tenant: names[id*7%uint64(len(names))], Input: 512, Rank: wire.AnyRank}
		if id%5 == 0 {
			q.Class = "regular"
		}
		step(Arrived{ID: id, At: now, Request: q})
	}
	seq := uint64(0)
	heartbeat := func(worker int) {
		beat.Seq++
		beat.Worker = "w" + strconv.Itoa(worker)
		step(Beat{beat})
	}
	for i := range workers {
		heartbeat(i + 1)
	}
	for range 4 * (workers - 1) {
		arrive()
		seq++
		step(HandedOut{ID: handed.Claim.ID, Attempt: 1, Seq: seq})
	}
	for range backlog {
		arrive()
	}
	b.ReportAllocs()
	b.ResetTimer()
	for i := range b.N {
		arrive()
		c := handed.Claim
		seq++
		worker := handed.Worker
		step(HandedOut{ID: c.ID, Attempt: c.Attempt, Seq: seq})
		step(Done{Seq: seq, Done: wire.Done{ID: c.ID, Attempt: c.Attempt, Claim: seq, Worker: worker, Incarnation: 1, Status: wire.StatusOK}})
		if i%64 == 0 {
			heartbeat(1)
		}
	}
}
