package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"go.uber.org/goleak"

	"fairlead/client"
	"fairlead/internal/store"
	"fairlead/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience is how long a test waits for what must happen.
const patience = 2 * time.Minute

// rig is a server with Fairlead's streams, a connection for the parts of worker
// and broker that the test plays, and a client under test.
type rig struct {
	t     testing.TB
	opts  *server.Options
	srv   *server.Server
	store *store.Store
	c     *client.Client
	ctx   context.Context
}

func newRig(t testing.TB, cfg client.Config) *rig {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	r := &rig{t: t, ctx: ctx, opts: &server.Options{
		Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true, StoreDir: t.TempDir(), NoLog: true, NoSigs: true,
	}}
	r.start()
	t.Cleanup(func() { r.stop() })
	nc, err := nats.Connect(r.srv.ClientURL(), append(store.Reconnect("test"), nats.RetryOnFailedConnect(false))...)
	must(t, err)
	t.Cleanup(nc.Close)
	names, err := wire.NewNames(cfg.Namespace)
	must(t, err)
	r.store, err = store.Open(nc, names)
	must(t, err)
	must(t, r.store.Ensure(ctx, store.Options{}))
	r.c = r.connect(cfg)
	return r
}

func (r *rig) connect(cfg client.Config) *client.Client {
	r.t.Helper()
	c, err := client.Connect(r.srv.ClientURL(), cfg)
	must(r.t, err)
	r.t.Cleanup(c.Close)
	return c
}

// start runs the server, after the first time on the same port and store.
func (r *rig) start() {
	r.t.Helper()
	srv, err := server.NewServer(r.opts)
	must(r.t, err)
	srv.Start()
	if !srv.ReadyForConnections(patience) {
		r.t.Fatal("server not ready")
	}
	r.srv, r.opts.Port = srv, srv.Addr().(*net.TCPAddr).Port
}

func (r *rig) stop() {
	r.srv.Shutdown()
	r.srv.WaitForShutdown()
}

// flush returns when the server has seen all that was sent before. A flush under
// which the connection breaks fails at once, as if the connection had been closed;
// the next one waits for the reconnect.
func (r *rig) flush() {
	r.t.Helper()
	err := r.store.NC.FlushWithContext(r.ctx)
	for errors.Is(err, nats.ErrConnectionClosed) && !r.store.NC.IsClosed() {
		err = r.store.NC.FlushWithContext(r.ctx)
	}
	must(r.t, err)
}

func (r *rig) submit(req client.Request) *client.Pending {
	r.t.Helper()
	p, err := r.c.Submit(r.ctx, req)
	must(r.t, err)
	r.t.Cleanup(p.Close)
	return p
}

// worker answers a request as one execution of it.
type worker struct {
	*rig
	origin wire.Origin
	reply  string // "" stores the result
	index  int
}

// take plays an agent that was handed the request.
func (r *rig) take(id uint64, attempt uint32) *worker {
	r.t.Helper()
	m, err := r.store.Get(r.ctx, r.store.Names.StreamREQ(), id)
	must(r.t, err)
	return &worker{rig: r, reply: wire.First(m.Header, wire.HeaderReplyTo), origin: wire.Origin{
		ID: id, Attempt: attempt, Claim: id + uint64(attempt), Worker: "gpu-1",
	}}
}

// as goes on as another attempt.
func (w *worker) as(attempt uint32) *worker {
	o := w.origin
	o.Attempt, o.Claim = attempt, o.ID+uint64(attempt)
	return &worker{rig: w.rig, origin: o, reply: w.reply}
}

// broker speaks as the leader itself.
func (w *worker) broker() *worker {
	return &worker{rig: w.rig, origin: wire.Origin{ID: w.origin.ID}, reply: w.reply}
}

func (w *worker) chunks(data ...string) *worker {
	w.t.Helper()
	for _, d := range data {
		w.publish(w.origin.Chunk(w.index), d)
		w.index++
	}
	return w
}

func (w *worker) skip(n int) *worker { w.index += n; return w }

func (w *worker) done(body string) {
	w.t.Helper()
	h := w.origin.FinalOK(w.index, wire.Usage{Prompt: 10, Cached: 4, Output: 2})
	h[wire.HeaderContentType] = []string{"application/json"}
	w.publish(h, body)
}

func (w *worker) fail(f wire.Failure, body string) {
	w.t.Helper()
	w.publish(w.origin.FinalError(w.index, f), body)
}

// publish sends a message and returns when the server has it.
func (w *worker) publish(h wire.Header, data string) {
	w.t.Helper()
	m := &nats.Msg{Subject: w.reply, Header: h, Data: []byte(data)}
	if w.reply == "" {
		m.Subject = w.store.Names.Res(w.origin.ID)
		_, err := w.store.JS.PublishMsg(w.ctx, m)
		must(w.t, err)
		return
	}
	must(w.t, w.store.NC.PublishMsg(m))
	w.flush()
}

// lead plays the leader on a subject of ctl.*.
func lead[Q, A any](r *rig, subject string, answer func(Q) A) {
	r.t.Helper()
	sub, err := r.store.NC.Subscribe(subject, func(m *nats.Msg) {
		var q Q
		if err := json.Unmarshal(m.Data, &q); err != nil {
			r.t.Errorf("%s: %v", subject, err)
		}
		body, err := json.Marshal(answer(q))
		if err != nil {
			r.t.Error(err)
		}
		if m.Reply != "" {
			_ = m.Respond(body)
		}
	})
	must(r.t, err)
	r.flush()
	r.t.Cleanup(func() { _ = sub.Unsubscribe() })
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
