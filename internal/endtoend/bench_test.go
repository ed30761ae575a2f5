package endtoend_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"fairlead/agent"
	"fairlead/agent/engine"
	"fairlead/broker"
	"fairlead/broker/embedded"
	"fairlead/client"
	"fairlead/internal/store"
	"fairlead/wire"
)

var (
	payload = fmt.Appendf(nil, `{"prompt":%q}`, bytes.Repeat([]byte("a"), 2<<10))
	answer  = bytes.Repeat([]byte("b"), 200)
)

// nothing is an engine that answers at once.
type nothing struct{}

func (nothing) Kind() string                             { return "nothing" }
func (nothing) Models(context.Context) ([]string, error) { return []string{"nothing"}, nil }
func (nothing) Healthy(context.Context) error            { return nil }
func (nothing) Run(context.Context, engine.Request, engine.Emit) (engine.Result, error) {
	return engine.Result{Body: answer}, nil
}

// BenchmarkClosed keeps so many jobs under way, each submitter with one.
func BenchmarkClosed(b *testing.B) {
	for _, submitters := range []int{1, 64} {
		b.Run(fmt.Sprintf("submitters=%d", submitters), func(b *testing.B) {
			ask := system(b)
			measure(b, submitters, ask)
		})
	}
}

// BenchmarkOpen asks at a fixed rate, whatever happens.
func BenchmarkOpen(b *testing.B) {
	for _, rate := range []int{200, 1000} {
		b.Run(fmt.Sprintf("rate=%d", rate), func(b *testing.B) {
			ask := system(b)
			var jobs sync.WaitGroup
			h := newLatencies()
			every := time.NewTicker(time.Second / time.Duration(rate))
			defer every.Stop()
			for b.Loop() {
				<-every.C
				jobs.Go(func() { h.time(b, ask) })
			}
			jobs.Wait()
			h.report(b)
		})
	}
}

// BenchmarkFloor is what any durable queue of this kind must do on this store:
// publish, consume, publish the result, consume it, purge.
func BenchmarkFloor(b *testing.B) {
	b.Run("submitters=64", func(b *testing.B) { measure(b, 64, floor(b)) })
}

// measure runs jobs and reports rate, latency and CPU time for each.
func measure(b *testing.B, submitters int, ask func() error) {
	h := newLatencies()
	tokens := make(chan struct{}, submitters)
	var jobs sync.WaitGroup
	cpu, began := cpuTime(b), time.Now()
	for b.Loop() {
		tokens <- struct{}{}
		jobs.Go(func() {
			h.time(b, ask)
			<-tokens
		})
	}
	jobs.Wait()
	b.ReportMetric(float64(b.N)/time.Since(began).Seconds(), "jobs/s")
	b.ReportMetric(float64((cpuTime(b)-cpu).Microseconds())/float64(b.N), "cpu-µs/job")
	h.report(b)
}

func cpuTime(b *testing.B) time.Duration {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		b.Fatal(err)
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

type latencies struct {
	mu sync.Mutex
	h  *hdrhistogram.Histogram // µs
}

func newLatencies() *latencies { return &latencies{h: hdrhistogram.New(1, 60_000_000, 3)} }

func (l *latencies) time(b *testing.B, ask func() error) {
	began := time.Now()
	if err := ask(); err != nil {
		b.Error(err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.h.RecordValue(time.Since(began).Microseconds()); err != nil {
		b.Error(err)
	}
}

func (l *latencies) report(b *testing.B) {
	b.ReportMetric(float64(l.h.ValueAtQuantile(50))/1000, "p50-ms")
	b.ReportMetric(float64(l.h.ValueAtQuantile(99))/1000, "p99-ms")
}

func server(b *testing.B) *embedded.Server {
	srv, err := embedded.Start(embedded.Options{StoreDir: b.TempDir()})
	must(b, err)
	b.Cleanup(func() { must(b, srv.Stop()) })
	return srv
}

func must(b *testing.B, err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// system starts a broker and an agent, and returns how to run one job.
func system(b *testing.B) (ask func() error) {
	srv := server(b)
	nc, err := srv.Connect("broker")
	must(b, err)
	b.Cleanup(nc.Close)
	br, err := broker.New(broker.Config{Conn: nc})
	must(b, err)
	a, err := agent.New(agent.Config{URL: srv.URL(), Worker: "w1", Engine: nothing{}, Slots: 256})
	must(b, err)
	stop, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { err = errors.Join(err, br.Run(stop)) })
	running.Go(func() {
		if err := a.Run(stop, stop); err != nil {
			b.Error(err)
		}
	})
	b.Cleanup(func() { cancel(); running.Wait() })
	c, err := client.Connect(srv.URL(), client.Config{})
	must(b, err)
	b.Cleanup(c.Close)
	ask = func() error {
		p, err := c.Submit(stop, client.Request{Class: "default", Body: payload})
		if err != nil {
			return err
		}
		_, err = p.Result(stop)
		return err
	}
	awaitStreams(b, nc)
	must(b, ask()) // everything is up once a job is done
	return ask
}

// awaitStreams waits until the broker has made the streams.
func awaitStreams(b *testing.B, nc *nats.Conn) {
	st, err := store.Open(nc, wire.Names{})
	must(b, err)
	look := time.NewTicker(5 * time.Millisecond)
	defer look.Stop()
	for {
		if _, err := st.Range(context.Background(), st.Names.StreamDEAD()); err == nil {
			return
		}
		<-look.C
	}
}

// floor returns the least that a durable job is: two stored hops.
func floor(b *testing.B) (ask func() error) {
	srv := server(b)
	ctx := context.Background()
	worker, err := nats.Connect(srv.URL())
	must(b, err)
	b.Cleanup(worker.Close)
	js, err := jetstream.New(worker)
	must(b, err)
	for _, name := range []string{"ASK", "TELL"} {
		_, err = js.CreateStream(ctx, jetstream.StreamConfig{Name: name, Subjects: []string{name + ".>"}})
		must(b, err)
	}
	relay(b, js, "ASK", func(m jetstream.Msg) {
		if _, err := js.PublishAsync("TELL.x", answer, jetstream.WithMsgID(m.Headers().Get("Reply"))); err != nil {
			b.Error(err)
		}
	})
	client, err := nats.Connect(srv.URL())
	must(b, err)
	b.Cleanup(client.Close)
	cjs, err := jetstream.New(client)
	must(b, err)
	relay(b, cjs, "TELL", func(m jetstream.Msg) {
		if err := client.Publish(m.Headers().Get(nats.MsgIdHdr), m.Data()); err != nil {
			b.Error(err)
		}
	})
	return func() error {
		inbox := client.NewInbox()
		sub, err := client.SubscribeSync(inbox)
		if err != nil {
			return err
		}
		m := &nats.Msg{Subject: "ASK.x", Data: payload, Header: nats.Header{"Reply": {inbox}}}
		if _, err := cjs.PublishMsg(ctx, m); err != nil {
			return err
		}
		if _, err := sub.NextMsg(time.Minute); err != nil {
			return err
		}
		return sub.Unsubscribe()
	}
}

// relay consumes a stream in order and purges what it has consumed.
func relay(b *testing.B, js jetstream.JetStream, stream string, handle func(jetstream.Msg)) {
	cons, err := js.OrderedConsumer(context.Background(), stream, jetstream.OrderedConsumerConfig{})
	must(b, err)
	s, err := js.Stream(context.Background(), stream)
	must(b, err)
	done := uint64(0)
	run, err := cons.Consume(func(m jetstream.Msg) {
		handle(m)
		if done++; done%500 == 0 {
			meta, err := m.Metadata()
			if err == nil {
				err = s.Purge(context.Background(), jetstream.WithPurgeSequence(meta.Sequence.Stream))
			}
			if err != nil {
				b.Error(err)
			}
		}
	})
	must(b, err)
	b.Cleanup(func() { run.Stop(); <-run.Closed() })
}
