//go:build !race

package arbiter

import (
	"runtime"
	"testing"
	"time"

	"fairlead/wire"
)

// TestMemoryPerRequest: a waiting request may cost the broker 300 bytes, its place
// in map and lanes included.
func TestMemoryPerRequest(t *testing.T) {
	const n, most = 1_000_000, 300
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := heap()
	a := New(Config{Policy: twoClasses(512, 128, 1536)})
	now := time.Unix(1_700_000_000, 0)
	a.Step(now, Recovered{})
	for id := uint64(1); id <= n; id++ {
		q := wire.Request{Class: "premium", Model: "m", Input: 512, Rank: wire.AnyRank}
		if id%2 == 0 {
			q.Class = "regular"
		}
		now = now.Add(time.Microsecond)
		a.Step(now, Arrived{ID: id, At: now, Request: q})
	}
	each := float64(heap()-before) / n
	t.Logf("%.1f bytes for each of %d queued requests", each, n)
	if each > most {
		t.Errorf("%.1f bytes a request, want at most %d", each, most)
	}
	if got := a.Pending(); got != n {
		t.Errorf("%d are pending, want %d", got, n)
	}
}
