package batch

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"go.uber.org/goleak"
	"golang.org/x/sync/semaphore"
)

// An object store's Put that ends before this goroutine of its own has begun leaves
// it behind: nats.go 1.55 takes the channel away that it would end by.
const leftByPut = "github.com/nats-io/nats.go/jetstream.(*jetStream).resetPendingAcksOnReconnect"

func TestMain(m *testing.M) { goleak.VerifyTestMain(m, goleak.IgnoreTopFunction(leftByPut)) }

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// rig is a store on a real server, whose replica can be made to have nothing: no
// follower falls behind at will.
type rig struct {
	t      *testing.T
	nc     *nats.Conn
	store  *Store
	behind atomic.Bool // direct gets find nothing
	asked  sync.Map    // what leaders were asked for
}

const proxied = "proxied"

func newRig(t *testing.T, l Limits) *rig {
	t.Helper()
	srv, err := server.NewServer(&server.Options{DontListen: true, JetStream: true, StoreDir: t.TempDir(), NoLog: true, NoSigs: true})
	must(t, err)
	go srv.Start()
	t.Cleanup(func() { srv.Shutdown(); srv.WaitForShutdown() })
	if !srv.ReadyForConnections(30 * time.Second) {
		t.Fatal("the server does not start")
	}
	r := &rig{t: t}
	connect := func() *nats.Conn {
		nc, err := nats.Connect("", nats.InProcessServer(srv))
		must(t, err)
		t.Cleanup(nc.Close)
		return nc
	}
	proxy := connect()
	_, err = proxy.Subscribe(proxied+".>", func(m *nats.Msg) { r.pass(proxy, m) })
	must(t, err)
	must(t, proxy.Flush())
	r.nc = connect()
	r.store, err = NewStore(r.nc, "", proxied, l)
	must(t, err)
	return r
}

// pass passes a call of JetStream's API on, unless a replica that is behind answers.
func (r *rig) pass(nc *nats.Conn, m *nats.Msg) {
	name := strings.TrimPrefix(m.Subject, proxied+".")
	out := &nats.Msg{Subject: "$JS.API." + name, Reply: m.Reply, Header: m.Header, Data: m.Data}
	r.asked.Store(string(m.Data), true)
	switch {
	case strings.HasPrefix(name, "DIRECT.GET.") && r.behind.Load():
		out = &nats.Msg{Subject: m.Reply, Header: nats.Header{"Status": {"404"}, "Description": {"Message Not Found"}}}
	case strings.HasPrefix(name, "$"):
		out.Subject = name
	}
	if err := nc.PublishMsg(out); err != nil && !nc.IsClosed() {
		r.t.Error(err)
	}
}

const owner = "acme"

func (r *rig) buckets() *buckets {
	r.t.Helper()
	b, err := r.store.open(r.t.Context())
	must(r.t, err)
	return b
}

// input is a file of so many lines, named c1, c2, …
func (r *rig) input(lines int) File {
	r.t.Helper()
	var text bytes.Buffer
	for n := 1; n <= lines; n++ {
		fmt.Fprintf(&text, `{"custom_id":"c%d","method":"POST","url":"/v1/chat/completions","body":{}}`+"\n", n)
	}
	f, err := r.store.PutContent(r.t.Context(), &text)
	must(r.t, err)
	f.Owner, f.Purpose = owner, "batch"
	must(r.t, r.store.Register(r.t.Context(), f))
	return f
}

// held is a batch of so many lines that a runner of this test has.
func (r *rig) held(lines int, status, ending Status) (*run, Batch) {
	r.t.Helper()
	ctx := r.t.Context()
	b, err := r.store.Create(ctx, Batch{Owner: owner, Endpoint: "/v1/chat/completions", Input: r.input(lines).ID})
	must(r.t, err)
	x := &run{Runner: NewRunner(Config{Store: r.store, Lines: func(bool) {}}), b: r.buckets(), owner: owner, id: b.ID,
		window: semaphore.NewWeighted(1), states: map[int]state{}}
	_, err = x.take(ctx)
	must(r.t, err)
	b, err = x.set(ctx, func(b *Batch) { b.Status, b.Ending, b.Counts.Total = status, ending, lines })
	must(r.t, err)
	return x, b
}

// done writes the result of a line down.
func (r *rig) done(x *run, n int) {
	r.t.Helper()
	a := asking{n: n}
	x.finish(r.t.Context(), &a, state{Done: true, OK: true, Out: x.out(&a, fmt.Sprintf("c%d", n), &outResponse{StatusCode: 200}, nil)})
}

func (r *rig) content(id string) string {
	r.t.Helper()
	if id == "" {
		return ""
	}
	file, err := r.store.Open(r.t.Context(), owner, id)
	must(r.t, err)
	defer file.Close()
	data, err := io.ReadAll(file)
	must(r.t, err)
	return string(data)
}

// until waits for what nobody signals.
func (r *rig) until(what string, ok func() bool) {
	r.t.Helper()
	late := time.After(2 * time.Minute)
	look := time.NewTicker(10 * time.Millisecond)
	defer look.Stop()
	for !ok() {
		select {
		case <-late:
			r.t.Fatalf("%s: not so", what)
		case <-look.C:
		}
	}
}

// runner runs batches until the end of the test.
func (r *rig) runner(cfg Config) {
	r.t.Helper()
	cfg.Store, cfg.Running, cfg.Lines = r.store, func(int) {}, func(bool) {}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		NewRunner(cfg).Run(ctx)
	}()
	r.t.Cleanup(func() { cancel(); <-ended })
}

// stream is a bucket as the stream that it is.
func (r *rig) stream(name string) *jetstream.StreamInfo {
	r.t.Helper()
	js, err := jetstream.New(r.nc)
	must(r.t, err)
	s, err := js.Stream(r.t.Context(), name)
	must(r.t, err)
	return s.CachedInfo()
}
