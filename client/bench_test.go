package client_test

import (
	"runtime"
	"sync"
	"testing"

	"fairlead/client"
)

// An idle request must not cost a goroutine: frontends hold many thousands.
func TestIdleRequestsNeedNoGoroutine(t *testing.T) {
	const n = 500
	r := newRig(t, client.Config{})
	r.submit(client.Request{Class: "a", Body: body})
	before := runtime.NumGoroutine()
	for range n {
		r.submit(client.Request{Class: "a", Body: body, TTL: 1 << 40})
	}
	if grown := runtime.NumGoroutine() - before; grown > n/10 {
		t.Errorf("%d more goroutines for %d requests", grown, n)
	}
}

// BenchmarkRoundTrip asks and takes three chunks and a final message, 256 at
// once, through an embedded server on file storage.
func BenchmarkRoundTrip(b *testing.B) {
	r := newRig(b, client.Config{})
	answerAll(r)
	b.ReportAllocs()
	b.SetParallelism(256 / runtime.GOMAXPROCS(0))
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			p, err := r.c.Submit(r.ctx, client.Request{Class: "a", Body: body})
			if err != nil {
				b.Error(err)
				return
			}
			if _, err := p.Result(r.ctx); err != nil {
				b.Error(err)
				return
			}
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "requests/s")
}

// BenchmarkIdle reports what an idle request holds in this process: the
// client's side and, embedded, the server's subscription.
func BenchmarkIdle(b *testing.B) {
	r := newRig(b, client.Config{})
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	open := make([]*client.Pending, b.N)
	var wg sync.WaitGroup
	for lane := range 64 {
		wg.Go(func() {
			for i := lane; i < b.N; i += 64 {
				p, err := r.c.Submit(r.ctx, client.Request{Class: "a", Body: body})
				if err != nil {
					b.Error(err)
					return
				}
				open[i] = p
			}
		})
	}
	wg.Wait()
	b.StopTimer()
	runtime.GC()
	runtime.ReadMemStats(&after)
	b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/float64(b.N), "B/request")
	for _, p := range open {
		p.Close()
	}
}
