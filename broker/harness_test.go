package broker_test

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"
	"go.uber.org/goleak"

	"fairlead/broker"
	"fairlead/broker/embedded"
	"fairlead/internal/store"
	"fairlead/policy"
	"fairlead/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience is how long a test waits for what must happen.
const patience = 60 * time.Second

// world is a NATS server and whoever talks to it.
type world struct {
	t     *testing.T
	srv   *embedded.Server
	nc    *nats.Conn
	store *store.Store
	names wire.Names
}

func newWorld(t *testing.T) *world {
	t.Helper()
	srv, err := embedded.Start(embedded.Options{StoreDir: t.TempDir(), Log: testLog(t)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := srv.Stop(); err != nil {
			t.Error(err)
		}
	})
	w := &world{t: t, srv: srv}
	w.nc = w.connect()
	w.store, err = store.Open(w.nc, w.names)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func testLog(t *testing.T) zerolog.Logger {
	if os.Getenv("FAIRLEAD_TEST_LOG") == "" {
		return zerolog.Nop()
	}
	return zerolog.New(zerolog.NewTestWriter(t))
}

func (w *world) connect() *nats.Conn {
	w.t.Helper()
	nc, err := nats.Connect(w.srv.URL(), nats.MaxReconnects(-1))
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(nc.Close)
	return nc
}

// running is a broker at work.
type running struct {
	*broker.Broker
	nc   *nats.Conn
	stop context.CancelFunc
	done chan struct{}
	err  error
}

// fast makes terms short, so that a lost leader costs a test a second or two.
func fast() broker.Timing {
	return broker.Timing{
		Lease: 2 * time.Second, Renew: 300 * time.Millisecond, Act: 1500 * time.Millisecond,
		Campaign: 50 * time.Millisecond, Listen: 50 * time.Millisecond,
	}
}

func (w *world) broker(change func(*broker.Config)) *running {
	w.t.Helper()
	cfg := broker.Config{Conn: w.connect(), Log: testLog(w.t), Timing: fast()}
	if change != nil {
		change(&cfg)
	}
	b, err := broker.New(cfg)
	if err != nil {
		w.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	r := &running{Broker: b, nc: cfg.Conn, stop: cancel, done: make(chan struct{})}
	go func() {
		defer close(r.done)
		r.err = b.Run(ctx)
	}()
	w.t.Cleanup(r.end)
	return r
}

// end stops a broker cleanly and waits for it.
func (r *running) end() {
	r.stop()
	<-r.done
}

// kill takes the broker's connection away for good, as a crash would.
func (r *running) kill() {
	r.nc.Close()
	r.end()
}

// eventually waits for a condition that some event will make true.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	limit := time.After(patience)
	look := time.NewTicker(5 * time.Millisecond)
	defer look.Stop()
	for !ok() {
		select {
		case <-limit:
			t.Fatalf("%s: not so after %v", what, patience)
		case <-look.C:
		}
	}
}

func (w *world) awaitLeader(rs ...*running) *running {
	w.t.Helper()
	var leader *running
	eventually(w.t, "a broker leads", func() bool {
		for _, r := range rs {
			if _, ok := r.Leading(); ok {
				leader = r
				return true
			}
		}
		return false
	})
	return leader
}

// serves asks for something, and has a worker answer it.
func (w *world) serves() {
	w.t.Helper()
	to := w.inbox()
	w.request("req.a", to)
	w.worker("w1", nil).take().finish()
	if r, _ := to.next(); r.Usage == nil {
		w.t.Fatalf("result %+v", r)
	}
}

// awaitEmpty waits until nothing is left of any request.
func (w *world) awaitEmpty() {
	w.t.Helper()
	ctx := context.Background()
	for _, stream := range []string{w.names.StreamREQ(), w.names.StreamDONE()} {
		eventually(w.t, stream+" is empty", func() bool {
			r, err := w.store.Range(ctx, stream)
			return err == nil && r.Messages == 0
		})
	}
	s, err := w.store.JS.Stream(ctx, w.names.StreamWORK())
	if err != nil {
		w.t.Fatal(err)
	}
	for _, subject := range []string{"work.>", "verdict.>"} {
		eventually(w.t, subject+" is empty", func() bool {
			info, err := s.Info(ctx, jetstream.WithSubjectFilter(subject))
			return err == nil && len(info.State.Subjects) == 0
		})
	}
}

// inbox is where a client waits.
type inbox struct {
	t   *testing.T
	sub *nats.Subscription
}

func (w *world) inbox() inbox {
	w.t.Helper()
	sub, err := w.nc.SubscribeSync(w.nc.NewInbox())
	if err != nil {
		w.t.Fatal(err)
	}
	return inbox{w.t, sub}
}

// next is the next message of a result.
func (b inbox) next() (wire.ResultMessage, []byte) {
	b.t.Helper()
	m, err := b.sub.NextMsg(patience)
	if err != nil {
		b.t.Fatal(err)
	}
	r, err := wire.ParseResult(m.Header)
	if err != nil {
		b.t.Fatal(err)
	}
	return r, m.Data
}

// failure is the next message, which must be a final error.
func (b inbox) failure(want wire.Reason) wire.Failure {
	b.t.Helper()
	r, _ := b.next()
	if r.Failure == nil || r.Failure.Reason != want {
		b.t.Fatalf("got %+v, want a failure for %s", r, want)
	}
	return *r.Failure
}

// request asks on a subject; headers come in pairs.
func (w *world) request(subject string, to inbox, headers ...string) uint64 {
	w.t.Helper()
	m := nats.NewMsg(subject)
	m.Data = []byte(`{"prompt":"a b c d"}`)
	if to.sub != nil {
		m.Header.Set(wire.HeaderReplyTo, to.sub.Subject)
	}
	for i := 0; i < len(headers); i += 2 {
		m.Header.Set(headers[i], headers[i+1])
	}
	ack, err := w.store.JS.PublishMsg(context.Background(), m)
	if err != nil {
		w.t.Fatal(err)
	}
	return ack.Sequence
}

func (w *world) cancel(id uint64) wire.CancelOutcome {
	w.t.Helper()
	m, err := w.nc.Request(w.names.CtlCancel(), []byte(strconv.FormatUint(id, 10)), patience)
	if err != nil {
		w.t.Fatal(err)
	}
	return cancelReply(w.t, m).Outcome
}

// mustPolicy parses a policy that a test writes.
func mustPolicy(t *testing.T, yaml string) *policy.Policy {
	t.Helper()
	p, err := policy.Parse("test.yaml", []byte(yaml))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// oneClass is a policy of one class with extra lines.
func oneClass(extra string) string {
	return fmt.Sprintf(`
default_policy_family: a
uncached_isl_buckets: [{min_tokens: 0, bucket: all}]
policy_classes:
  - {name: a, policy_family: a, cache_bucket: all, quantum: 100%s}
`, extra)
}
