package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"go.uber.org/goleak"

	"fairlead/internal/cli"
	"fairlead/internal/store"
	"fairlead/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const patience = 2 * time.Minute

// rig is a server with Fairlead's streams in a namespace; the test plays worker
// and leader.
type rig struct {
	t     *testing.T
	ctx   context.Context
	url   string
	store *store.Store
}

func newRig(t *testing.T) *rig {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	srv, err := server.NewServer(&server.Options{
		Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true, StoreDir: t.TempDir(), NoLog: true, NoSigs: true,
	})
	must(t, err)
	srv.Start()
	t.Cleanup(func() { srv.Shutdown(); srv.WaitForShutdown() })
	if !srv.ReadyForConnections(patience) {
		t.Fatal("server not ready")
	}
	nc, err := nats.Connect(srv.ClientURL())
	must(t, err)
	t.Cleanup(nc.Close)
	names, err := wire.NewNames("blue")
	must(t, err)
	st, err := store.Open(nc, names)
	must(t, err)
	must(t, st.Ensure(ctx, store.Options{Memory: true}))
	return &rig{t: t, ctx: ctx, url: srv.ClientURL(), store: st}
}

// serve answers a core subject.
func (r *rig) serve(subject string, answer func(*nats.Msg)) {
	r.t.Helper()
	sub, err := r.store.NC.Subscribe(subject, answer)
	must(r.t, err)
	must(r.t, r.store.NC.FlushWithContext(r.ctx))
	r.t.Cleanup(func() { _ = sub.Unsubscribe() })
}

// leader answers a subject of ctl.* with JSON.
func (r *rig) leader(subject string, answer func(body string) any) {
	r.t.Helper()
	r.serve(subject, func(m *nats.Msg) {
		b, err := json.Marshal(answer(string(m.Data)))
		if err != nil {
			r.t.Error(err)
		}
		_ = m.Respond(b)
	})
}

// worker answers requests as they are asked. It hears them beside the stream and
// learns the id as an agent would not: from the stream's last sequence.
func (r *rig) worker(answer func(o wire.Origin, reply string)) {
	r.t.Helper()
	r.serve(r.store.Names.Req("*"), func(m *nats.Msg) {
		for {
			last, err := r.store.LeaderLast(r.ctx, r.store.Names.StreamREQ(), m.Subject)
			if err == nil && bytes.Equal(last.Data, m.Data) {
				reply := m.Header.Get(wire.HeaderReplyTo)
				if reply == "" {
					reply = r.store.Names.Res(last.Seq)
				}
				answer(wire.Origin{ID: last.Seq, Attempt: 1, Claim: 9, Worker: "gpu-1"}, reply)
				return
			}
			if r.ctx.Err() != nil {
				return // the test is over; it may have repeated a request
			}
		}
	})
}

// publish may come late: a repeated request is answered again, whether or not the
// test is over.
func (r *rig) publish(subject string, h wire.Header, body string) {
	err := r.store.NC.PublishMsg(&nats.Msg{Subject: subject, Header: h, Data: []byte(body)})
	if err != nil && !errors.Is(err, nats.ErrConnectionClosed) {
		r.t.Error(err)
	}
}

// run is the command's exit code and what it wrote.
type run struct {
	code     int
	out, err string
}

func (r *rig) run(stdin string, args ...string) run {
	return r.runIn(r.ctx, stdin, args...)
}

func (r *rig) runIn(ctx context.Context, stdin string, args ...string) run {
	r.t.Helper()
	return execute(ctx, stdin, append(args, "--nats-url", r.url, "--namespace", "blue")...)
}

func execute(ctx context.Context, stdin string, args ...string) run {
	return executeWith(ctx, &buffer{}, stdin, args...)
}

// executeWith runs with a stderr of the caller's.
func executeWith(ctx context.Context, errs interface {
	io.Writer
	String() string
}, stdin string, args ...string) run {
	var out buffer
	code := cli.Run(ctx, cli.Root(), args, cli.Streams{In: strings.NewReader(stdin), Out: &out, Err: errs})
	return run{code, out.String(), errs.String()}
}

type buffer struct {
	mu sync.Mutex // guards b
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
