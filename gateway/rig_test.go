package gateway_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/rs/zerolog"
	"go.uber.org/goleak"

	"fairlead/agent"
	"fairlead/agent/engine"
	"fairlead/agent/engine/mock"
	"fairlead/broker"
	"fairlead/broker/embedded"
	"fairlead/client"
	"fairlead/gateway"
	"fairlead/internal/store"
	"fairlead/policy"
	"fairlead/wire"
)

func TestMain(m *testing.M) {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if !given { // most of the time a test waits for a broker
		if err := flag.Set("test.parallel", "6"); err != nil {
			panic(err)
		}
	}
	goleak.VerifyTestMain(m)
}

// patience is how long a test waits for what must happen.
const patience = 2 * time.Minute

// rig is a whole Fairlead with real NATS, broker, agents and gateways.
type rig struct {
	t   testing.TB
	ctx context.Context
	srv *embedded.Server
	ask *client.Client // the test's own
}

const twoClasses = `
default_policy_family: regular
uncached_isl_buckets: [{min_tokens: 0, bucket: all}]
policy_classes:
  - {name: premium, policy_family: premium, cache_bucket: all, quantum: 512}
  - {name: regular, policy_family: regular, cache_bucket: all, quantum: 128}
  - {name: tiny, policy_family: tiny, cache_bucket: all, quantum: 128, request_queue_limit_per_worker: 1}
`

func newRig(t testing.TB, policyText string) *rig {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*patience)
	t.Cleanup(cancel)
	r := &rig{t: t, ctx: ctx}
	srv, err := embedded.Start(embedded.Options{StoreDir: t.TempDir(), MaxPayload: 1 << 20, Log: zerolog.Nop()})
	must(t, err)
	r.srv = srv
	t.Cleanup(func() { must(t, srv.Stop()) })
	p, err := policy.Parse("test", []byte(policyText))
	must(t, err)
	b, err := broker.New(broker.Config{Conn: r.connect(), Name: "test", Policy: p, Log: zerolog.Nop()})
	must(t, err)
	r.background(b.Run)
	r.ask, err = client.New(r.connect(), client.Config{})
	must(t, err)
	t.Cleanup(r.ask.Close)
	r.until("a broker leads", func() bool {
		s, err := r.ask.Status(ctx)
		return err == nil && s.Recovered
	})
	return r
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// background runs something until the end of the test.
func (r *rig) background(run func(context.Context) error) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := run(ctx); err != nil {
			r.t.Error(err)
		}
	}()
	stop = func() { cancel(); <-ended }
	r.t.Cleanup(stop)
	return stop
}

func (r *rig) connect() *nats.Conn {
	r.t.Helper()
	nc, err := nats.Connect(r.srv.URL(), store.Reconnect("test")...)
	must(r.t, err)
	r.t.Cleanup(nc.Close)
	return nc
}

// until waits for what nobody signals.
func (r *rig) until(what string, ok func() bool) {
	r.t.Helper()
	late := time.After(patience)
	look := time.NewTicker(10 * time.Millisecond)
	defer look.Stop()
	for !ok() {
		select {
		case <-late:
			r.t.Fatalf("%s: not so after %v", what, patience)
		case <-look.C:
		}
	}
}

// quick is a mock engine that answers at once.
func quick() mock.Config {
	return mock.Config{Models: []string{"mock"}, Slots: 4, PrefillRate: 1e7, TokenTime: time.Millisecond, OutputTokens: 8}
}

// agent runs a worker with a mock engine, and waits until it is known.
func (r *rig) agent(worker string, cfg mock.Config) (stop func()) {
	r.t.Helper()
	eng, err := mock.New(cfg)
	must(r.t, err)
	r.t.Cleanup(func() { _ = eng.Close() })
	return r.agentWith(worker, eng, cfg.Slots)
}

func (r *rig) agentWith(worker string, eng engine.Engine, slots int) (stop func()) {
	r.t.Helper()
	a, err := agent.New(agent.Config{URL: r.srv.URL(), Worker: worker, Engine: eng, Slots: slots, Speed: 1e6, LeaveGrace: patience})
	must(r.t, err)
	stop = r.background(func(ctx context.Context) error { return a.Run(ctx, ctx) })
	r.until(worker+" is ready", func() bool { return r.worker(worker).State == "ready" })
	return stop
}

// worker is what the leader says of one.
func (r *rig) worker(name string) wire.WorkerStatus {
	s, err := r.ask.Status(r.ctx)
	if err != nil {
		return wire.WorkerStatus{}
	}
	for _, w := range s.Workers {
		if w.Worker == name {
			return w
		}
	}
	return wire.WorkerStatus{}
}

// served is a gateway on a port of its own.
type served struct {
	*gateway.Gateway
	t     testing.TB
	url   string
	stop  context.CancelFunc // drains
	abort context.CancelFunc
	ended chan struct{}
}

func (r *rig) gateway(cfg gateway.Config) *served {
	r.t.Helper()
	cfg.Conn = r.connect()
	return r.serve(cfg)
}

func (r *rig) serve(cfg gateway.Config) *served {
	r.t.Helper()
	g, err := gateway.New(cfg)
	must(r.t, err)
	srv, err := g.Listen("127.0.0.1:0")
	must(r.t, err)
	abort, doAbort := context.WithCancel(context.Background())
	stop, doStop := context.WithCancel(abort)
	s := &served{Gateway: g, t: r.t, url: "http://" + srv.Addr(), stop: doStop, abort: doAbort, ended: make(chan struct{})}
	batches := make(chan struct{})
	go func() {
		defer close(batches)
		g.Run(stop)
	}()
	go func() {
		defer close(s.ended)
		defer func() { <-batches }()
		if err := srv.Run(stop, abort); err != nil {
			r.t.Error(err)
		}
	}()
	r.t.Cleanup(func() {
		doAbort()
		<-s.ended
		g.Close()
		doStop()
	})
	return s
}

// sdk is the official client, without retries of its own.
func (s *served) sdk(opts ...option.RequestOption) *openai.Client {
	transport := &http.Transport{}
	s.t.Cleanup(transport.CloseIdleConnections)
	base := []option.RequestOption{
		option.WithBaseURL(s.url + "/v1"), option.WithAPIKey("sk-test"), option.WithMaxRetries(0), option.WithHTTPClient(&http.Client{Transport: transport}),
	}
	c := openai.NewClient(append(base, opts...)...)
	return &c
}

// reply is an answer to a plain HTTP request.
type reply struct {
	status int
	header http.Header
	body   string
}

// errorOf is the error in OpenAI's shape.
func (r reply) errorOf(t testing.TB) (e struct{ Message, Type, Param, Code string }) {
	t.Helper()
	var wrapped struct {
		Error *struct{ Message, Type, Param, Code string }
	}
	if err := json.Unmarshal([]byte(r.body), &wrapped); err != nil || wrapped.Error == nil {
		t.Fatalf("status %d with %q; want an error in OpenAI's shape", r.status, r.body)
	}
	return *wrapped.Error
}

// do sends a request with headers given as "Name: value".
func (s *served) do(method, path, body string, headers ...string) reply {
	s.t.Helper()
	resp := s.send(method, path, strings.NewReader(body), headers...)
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	must(s.t, err)
	return reply{resp.StatusCode, resp.Header, string(data)}
}

func (s *served) send(method, path string, body io.Reader, headers ...string) *http.Response {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*patience)
	s.t.Cleanup(cancel)
	req, err := http.NewRequestWithContext(ctx, method, s.url+path, body)
	must(s.t, err)
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		req.Header.Set(name, value)
	}
	transport := &http.Transport{DisableKeepAlives: true}
	resp, err := transport.RoundTrip(req)
	must(s.t, err)
	return resp
}

const hello = `{"model":"mock","messages":[{"role":"user","content":"Hello"}],"max_tokens":4}`

func streaming(body string) string { return strings.Replace(body, "{", `{"stream":true,`, 1) }

// lastData is the payload of the last event of a stream.
func lastData(body string) string {
	i := strings.LastIndex(body, "data: ")
	if i < 0 {
		return ""
	}
	line, _, _ := bytes.Cut([]byte(body[i+len("data: "):]), []byte("\n"))
	return string(line)
}
