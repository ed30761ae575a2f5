package broker

import (
	"testing"
	"time"

	"fairlead/broker/arbiter"
	"fairlead/wire"
)

// BenchmarkScrape is how long the loop is held up by one look at its state with so
// many requests queued. It is spent once in fifty times as long at most.
func BenchmarkScrape(b *testing.B) {
	for _, c := range []struct {
		name   string
		queued uint64
	}{{"queued=10k", 10_000}, {"queued=1M", 1_000_000}} {
		b.Run(c.name, func(b *testing.B) {
			t := &term{arb: arbiter.New(arbiter.Config{})}
			now := time.Unix(1_700_000_000, 0)
			t.arb.Step(now, arbiter.Recovered{})
			for id := range c.queued {
				q := wire.Request{Model: "m", Input: uint32(id%4096) + 1, Rank: wire.AnyRank}
				t.arb.Step(now, arbiter.Arrived{ID: id + 1, At: now, Request: q})
			}
			b.ResetTimer()
			for range b.N {
				if v := t.view(); v.status.Classes[0].Queued != int(c.queued) {
					b.Fatalf("%d queued", v.status.Classes[0].Queued)
				}
			}
		})
	}
}
