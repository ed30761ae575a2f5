package agent

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"
	"go.uber.org/goleak"

	"fairlead/agent/engine"
	"fairlead/internal/store"
	"fairlead/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience bounds every wait; none should ever need it.
const patience = 10 * time.Second

// world is a real server with the streams, and a broker played by hand.
type world struct {
	t    testing.TB
	opts *server.Options
	srv  *server.Server
	nc   *nats.Conn
	st   *store.Store
}

func newWorld(t testing.TB) *world {
	t.Helper()
	w := &world{t: t, opts: &server.Options{
		Host: "127.0.0.1", Port: -1, JetStream: true, StoreDir: t.TempDir(), NoLog: true, NoSigs: true, MaxPayload: 64 << 10,
	}}
	w.startServer()
	t.Cleanup(func() { w.stopServer() })
	w.nc = w.connect()
	names, err := wire.NewNames("test")
	w.must(err)
	w.st, err = store.Open(w.nc, names)
	w.must(err)
	return w
}

// newWorldWithStreams is a world in which a broker has been.
func newWorldWithStreams(t testing.TB) *world {
	w := newWorld(t)
	w.must(w.st.Ensure(t.Context(), store.Options{}))
	return w
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) startServer() {
	w.t.Helper()
	srv, err := server.NewServer(w.opts)
	w.must(err)
	go srv.Start()
	if !srv.ReadyForConnections(patience) {
		w.t.Fatal("the server does not start")
	}
	w.opts.Port = srv.Addr().(*net.TCPAddr).Port // the same after a restart
	w.srv = srv
}

func (w *world) stopServer() {
	w.srv.Shutdown()
	w.srv.WaitForShutdown()
}

func (w *world) connect() *nats.Conn {
	w.t.Helper()
	nc, err := nats.Connect(w.srv.ClientURL(), store.Reconnect("test")...)
	w.must(err)
	w.t.Cleanup(nc.Close)
	return nc
}

var usage = engine.Usage{PromptTokens: 10, CachedTokens: 4, OutputTokens: 2, Known: true, CachedKnown: true}

// rig is an agent under test.
type rig struct {
	*world
	agent       *Agent
	stop, abort context.CancelFunc
	ended       chan error
	log         logLines
	beats       chan *wire.Heartbeat
	events      chan *wire.Event
	dones       chan wire.Done
}

// in makes a subtest the one that fails.
func (w *world) in(t testing.TB) (back func()) {
	outer := w.t
	w.t = t
	return func() { w.t = outer }
}

// check reports an error from a callback.
func (w *world) check(err error) {
	if err != nil {
		w.t.Error(err)
	}
}

// start runs an agent and waits until it is ready.
func (w *world) start(eng engine.Engine, change func(*Config)) *rig {
	w.t.Helper()
	cfg := Config{URL: w.srv.ClientURL(), Names: w.st.Names, Worker: "w1", Engine: eng, Slots: 2, Heartbeat: 100 * time.Millisecond}
	lines := make(logLines, 10_000)
	log := zerolog.New(lines)
	cfg.Log = &log
	if change != nil {
		change(&cfg)
	}
	a, err := New(cfg)
	w.must(err)
	r := &rig{world: w, agent: a, ended: make(chan error, 1), log: lines,
		beats: make(chan *wire.Heartbeat, 10_000), events: make(chan *wire.Event, 1000), dones: make(chan wire.Done, 1000)}
	r.listen()
	stop, cancelStop := context.WithCancel(context.Background())
	abort, cancelAbort := context.WithCancel(context.Background())
	r.stop, r.abort = cancelStop, cancelAbort
	go func() { r.ended <- a.Run(stop, abort) }()
	w.t.Cleanup(func() {
		cancelAbort()
		cancelStop()
		select {
		case <-r.ended:
		case <-time.After(patience):
			w.t.Error("the agent does not end")
		}
	})
	return r
}

func (r *rig) listen() {
	n := r.st.Names
	for subject, to := range map[string]func(m *nats.Msg){
		n.Load("w1"): func(m *nats.Msg) {
			var h wire.Heartbeat
			r.check(wire.Decode(m.Data, &h))
			r.beats <- &h
		},
		n.Ev("w1"): func(m *nats.Msg) {
			var e wire.Event
			r.check(wire.Decode(m.Data, &e))
			r.events <- &e
		},
		n.Done("w1"): func(m *nats.Msg) {
			var d wire.Done
			r.check(wire.Decode(m.Data, &d))
			r.dones <- d
		},
	} {
		_, err := r.nc.Subscribe(subject, to)
		r.must(err)
	}
	r.must(r.nc.Flush())
}

// receive takes from a channel until ok says that it is what was waited for.
func receive[T any](t testing.TB, what string, from <-chan T, ok func(T) bool) T {
	t.Helper()
	late := time.After(patience)
	for {
		select {
		case v := <-from:
			if ok == nil || ok(v) {
				return v
			}
		case <-late:
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

// ready waits for a heartbeat of a healthy agent with models, and returns it.
func (r *rig) ready() *wire.Heartbeat {
	r.t.Helper()
	return receive(r.t, "a healthy heartbeat", r.beats, func(h *wire.Heartbeat) bool { return h.Healthy && len(h.Models) > 0 })
}

// request is a request as a test asks it.
type request struct {
	body   string
	header map[string]string
}

// ask stores a request and returns its id.
func (w *world) ask(q request) uint64 {
	w.t.Helper()
	m := nats.NewMsg(w.st.Names.Req("chat"))
	for k, v := range q.header {
		m.Header[k] = []string{v}
	}
	m.Data = []byte(q.body)
	ack, err := w.st.JS.PublishMsg(w.t.Context(), m)
	w.must(err)
	return ack.Sequence
}

// hand hands a claim to the agent and returns the claim's sequence.
func (r *rig) hand(c wire.Claim) uint64 {
	r.t.Helper()
	if c.Attempt == 0 {
		c.Attempt = 1
	}
	c.Class = "chat"
	ack, err := r.st.JS.Publish(r.t.Context(), r.st.Names.Work("w1", r.agent.Incarnation()), wire.Encode(&c))
	r.must(err)
	return ack.Sequence
}

// inbox listens for results and returns the subject and what arrives on it.
func (w *world) inbox() (string, chan *nats.Msg) {
	w.t.Helper()
	subject, c := w.nc.NewInbox(), make(chan *nats.Msg, 1000)
	_, err := w.nc.ChanSubscribe(subject, c)
	w.must(err)
	w.must(w.nc.Flush())
	return subject, c
}

// next reads one result message.
func (w *world) next(from <-chan *nats.Msg) (wire.ResultMessage, *nats.Msg) {
	w.t.Helper()
	m := receive(w.t, "a result message", from, nil)
	r, err := wire.ParseResult(wire.Header(m.Header))
	w.must(err)
	return r, m
}

// done waits for the next DONE.
func (r *rig) done() wire.Done {
	r.t.Helper()
	return receive(r.t, "a DONE", r.dones, nil)
}

// idle waits for a heartbeat without claims, and checks that WORK has none.
func (r *rig) idle() {
	r.t.Helper()
	for { // drop what was sent before
		select {
		case <-r.beats:
			continue
		default:
		}
		break
	}
	receive(r.t, "an idle heartbeat", r.beats, func(h *wire.Heartbeat) bool { return len(h.InFlight) == 0 })
	r.noClaims()
}

func (w *world) noClaims() {
	w.t.Helper()
	_, err := w.st.LeaderLast(w.t.Context(), w.st.Names.StreamWORK(), w.st.Names.Work("w1", 0)[:len(w.st.Names.Work("w1", 0))-1]+">")
	if !errors.Is(err, store.ErrNotFound) {
		w.t.Fatalf("a claim is left in WORK: %v", err)
	}
}

func (r *rig) command(c wire.Command) {
	r.t.Helper()
	r.must(r.nc.Publish(r.st.Names.Agent("w1", r.agent.Incarnation()), wire.Encode(&c)))
}
