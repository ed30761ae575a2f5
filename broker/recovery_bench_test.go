package broker_test

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"fairlead/broker"
	"fairlead/broker/embedded"
	"fairlead/wire"
)

// BenchmarkRecovery restarts a broker on a backlog and reports what a pending
// request costs it: heap bytes, and requests recovered per second. The server
// runs in the same process, so its growth is measured first and taken off.
func BenchmarkRecovery(b *testing.B) {
	for _, pending := range []int{100_000, 1_000_000} {
		b.Run(fmt.Sprintf("pending=%d", pending), func(b *testing.B) { benchRecovery(b, pending) })
	}
}

func benchRecovery(b *testing.B, pending int) {
	srv, err := embedded.Start(embedded.Options{StoreDir: b.TempDir()})
	if err != nil {
		b.Fatal(err)
	}
	defer func() {
		if err := srv.Stop(); err != nil {
			b.Error(err)
		}
	}()
	nc, err := srv.Connect("bench")
	if err != nil {
		b.Fatal(err)
	}
	defer nc.Close()
	lead(b, nc)() // creates the streams
	fill(b, nc, pending)
	var took time.Duration
	var heap float64
	for b.Loop() {
		before := heapInUse()
		began := time.Now()
		stop := lead(b, nc)
		took += time.Since(began)
		heap = float64(heapInUse()) - float64(before)
		stop()
	}
	b.ReportMetric(float64(pending*b.N)/took.Seconds(), "pending/s")
	b.ReportMetric(heap/float64(pending), "heap-B/pending")
}

// lead runs a broker until it has recovered; the function returned ends it.
func lead(b *testing.B, nc *nats.Conn) (stop func()) {
	br, err := broker.New(broker.Config{Conn: nc, Timing: fast()})
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- br.Run(ctx) }()
	look := time.NewTicker(time.Millisecond)
	defer look.Stop()
	for leading := false; !leading; _, leading = br.Leading() {
		<-look.C
	}
	return func() {
		cancel()
		if err := <-done; err != nil {
			b.Fatal(err)
		}
	}
}

func fill(b *testing.B, nc *nats.Conn, pending int) {
	js, err := jetstream.New(nc, jetstream.WithPublishAsyncMaxPending(4096))
	if err != nil {
		b.Fatal(err)
	}
	for i := range pending {
		m := nats.NewMsg(wire.Names{}.Req("premium"))
		m.Data = []byte(`{"prompt":"a"}`)
		m.Header.Set(wire.HeaderInputTokens, "512")
		m.Header.Set(wire.HeaderReplyTo, nats.NewInbox())
		if _, err := js.PublishMsgAsync(m, jetstream.WithStallWait(time.Minute)); err != nil {
			b.Fatalf("message %d: %v", i, err)
		}
	}
	<-js.PublishAsyncComplete()
}

func heapInUse() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
