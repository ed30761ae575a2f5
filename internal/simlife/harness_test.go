package simlife_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"fairlead/agent"
	"fairlead/agent/engine"
	"fairlead/broker"
	"fairlead/broker/embedded"
	"fairlead/client"
	"fairlead/internal/demo"
	"fairlead/internal/recorder"
	"fairlead/internal/store"
	"fairlead/policy"
	"fairlead/sim"
	"fairlead/sim/whatif"
	"fairlead/trace"
	"fairlead/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const patience = 3 * time.Minute

// system is a server with a broker and a recorder.
type system struct {
	t        *testing.T
	ctx      context.Context
	url      string
	client   *client.Client
	recorded func() *trace.Recording // ends the recording
	running  sync.WaitGroup
}

func newSystem(t *testing.T, p *policy.Policy) *system {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	s := &system{t: t, ctx: ctx}
	srv, err := embedded.Start(embedded.Options{StoreDir: t.TempDir()})
	must(t, err)
	nc, err := srv.Connect("broker")
	must(t, err)
	b, err := broker.New(broker.Config{Conn: nc, Name: "life", Policy: p})
	must(t, err)
	s.url = srv.URL()
	s.running.Go(func() {
		if err := b.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	s.client, err = client.Connect(s.url, client.Config{})
	must(t, err)
	t.Cleanup(func() {
		s.client.Close()
		cancel()
		s.running.Wait()
		nc.Close()
		must(t, srv.Stop())
	})
	s.ready(0)
	st, err := store.Open(nc, wire.Names{})
	must(t, err)
	s.record(st)
	return s
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// until asks the leader until its answer is as wanted.
func (s *system) until(what string, right func(*wire.BrokerStatus) bool) wire.BrokerStatus {
	s.t.Helper()
	pause := time.NewTicker(time.Millisecond)
	defer pause.Stop()
	for {
		st, err := s.client.Status(s.ctx)
		if err == nil && right(&st) {
			return st
		}
		select {
		case <-pause.C:
		case <-s.ctx.Done():
			s.t.Fatalf("%s: never; at last %+v, %v", what, st, err)
		}
	}
}

// ready waits for the leader, and until so many workers take work.
func (s *system) ready(workers int) {
	s.t.Helper()
	s.until("ready", func(st *wire.BrokerStatus) bool {
		idle := func(w wire.WorkerStatus) bool { return w.State == "ready" || w.State == "busy" }
		return st.Recovered && len(st.Workers) == workers && !slices.ContainsFunc(st.Workers, func(w wire.WorkerStatus) bool { return !idle(w) })
	})
}

// record begins a recording.
func (s *system) record(st *store.Store) {
	ctx, stop := context.WithCancel(s.ctx)
	var out bytes.Buffer
	ready, ended := make(chan struct{}), make(chan struct{})
	s.running.Go(func() {
		defer close(ended)
		n, err := recorder.Run(ctx, recorder.Config{Store: st, Out: &out, Rules: wire.Rules{Names: st.Names}, Ready: func() { close(ready) }})
		if err != nil || n.Missed > 0 {
			s.t.Errorf("recording: %+v, %v", n, err)
		}
	})
	select {
	case <-ready:
	case <-ended:
		s.t.FailNow()
	}
	s.recorded = func() *trace.Recording {
		stop()
		<-ended
		rec, err := trace.ReadRecording(&out)
		must(s.t, err)
		return rec
	}
}

// work starts agents with an engine each, until the test ends.
func (s *system) work(f demo.Fleet, engines []engine.Engine) {
	s.t.Helper()
	for i, e := range engines {
		a, err := agent.New(agent.Config{
			URL: s.url, Worker: fmt.Sprintf("gpu-%d", i+1), Engine: e, Slots: f.Slots, Speed: f.Engine.PrefillRate * f.Engine.Speedup,
		})
		must(s.t, err)
		s.running.Go(func() {
			if err := a.Run(s.ctx, s.ctx); err != nil && s.ctx.Err() == nil {
				s.t.Error(err)
			}
		})
	}
	s.ready(len(engines))
}

// ask submits a request of a scenario.
func (s *system) ask(r *demo.Request) *client.Pending {
	s.t.Helper()
	body, err := json.Marshal(map[string]any{"stream": true, "max_tokens": r.Output, "messages": []any{}})
	must(s.t, err)
	p, err := s.client.Submit(s.ctx, client.Request{
		Class: r.Name, Body: body, Model: "mock", InputTokens: r.Input, CachedTokens: r.Cached, MaxOutputTokens: r.Output,
	})
	must(s.t, err)
	return p
}

// handed is one hand-out: which request, in order of arrival, to whom.
type handed struct {
	request int
	worker  string
}

// order is how a recording says that requests were handed out.
func order(t *testing.T, rec *trace.Recording) []handed {
	t.Helper()
	var list []handed
	for i := range rec.Requests {
		for _, a := range rec.Requests[i].Attempts {
			for uint64(len(list)) < a.Order {
				list = append(list, handed{-1, ""})
			}
			list[a.Order-1] = handed{i, a.Worker}
		}
	}
	if slices.ContainsFunc(list, func(h handed) bool { return h.request < 0 }) {
		t.Fatal("the recording lacks hand-outs")
	}
	return list
}

// playBack plays a recording in the simulator, each attempt ending at its instant.
func playBack(t *testing.T, rec *trace.Recording, p *policy.Policy) []handed {
	t.Helper()
	var file bytes.Buffer
	must(t, trace.WriteLine(&file, rec.RecordingHead))
	for i := range rec.Requests {
		must(t, trace.WriteLine(&file, rec.Requests[i]))
	}
	src, err := whatif.ReadSource(&file, "recording")
	must(t, err)
	var list []handed
	names := make([]string, len(rec.Workers))
	for i, w := range rec.Workers {
		names[i] = w.Worker
	}
	s := &whatif.Study{
		Policies: []whatif.Policy{{Name: "recorded", Policy: p}}, Traffic: whatif.Traffic{Sources: []*whatif.Source{src}},
		Fleet: whatif.FleetOf(rec.Workers, whatif.Group{}), Times: sim.Instants,
		Observe: func(_ int, h sim.Happening) {
			if h.Kind == sim.HandedOut {
				list = append(list, handed{h.Request, names[h.Worker]})
			}
		},
	}
	_, err = s.Run(t.Context())
	must(t, err)
	return list
}

// mustAgree compares two orders of hand-outs. A broker stores claims that it decides
// at once side by side, so that each may pass up to slack others on its way.
func mustAgree(t *testing.T, life, simulated []handed, slack int) {
	t.Helper()
	if len(life) != len(simulated) {
		t.Fatalf("%d hand-outs in life, %d simulated", len(life), len(simulated))
	}
	place := map[handed]int{}
	for i, h := range simulated {
		place[h] = i
	}
	for i, h := range life {
		if k, ok := place[h]; !ok || k < i-slack || k > i+slack {
			t.Fatalf("hand-out %d of %d: %v in life, %v simulated", i, len(life), h, simulated[i])
		}
	}
}

// gate is an engine that finishes each request when it is told to.
type gate struct {
	mu    sync.Mutex // guards doors and runs
	doors map[uint64]chan struct{}
	runs  int // that have begun
}

func newGate() *gate { return &gate{doors: map[uint64]chan struct{}{}} }

// begun is how many requests have come.
func (g *gate) begun() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.runs
}

func (g *gate) door(id uint64) chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.doors[id] == nil {
		g.doors[id] = make(chan struct{})
	}
	return g.doors[id]
}

// open lets a request finish, running or not yet.
func (g *gate) open(id uint64) { close(g.door(id)) }

// Kind is engine.Engine's.
func (g *gate) Kind() string { return "gate" }

// Models is engine.Engine's.
func (g *gate) Models(context.Context) ([]string, error) { return []string{"mock"}, nil }

// Healthy is engine.Engine's.
func (g *gate) Healthy(context.Context) error { return nil }

// Run is engine.Engine's.
func (g *gate) Run(ctx context.Context, req engine.Request, emit engine.Emit) (engine.Result, error) {
	door := g.door(req.ID)
	g.mu.Lock()
	g.runs++
	g.mu.Unlock()
	select {
	case <-door:
	case <-ctx.Done():
		return engine.Result{}, context.Cause(ctx)
	}
	err := emit([]byte(`{"choices":[]}`))
	return engine.Result{ContentType: "text/event-stream", Usage: engine.Usage{
		Known: true, CachedKnown: true, PromptTokens: req.InputTokens, CachedTokens: req.CachedTokens, OutputTokens: req.MaxOutputTokens,
	}}, err
}

var errNoClass = errors.New("no such class")

// share is what a class has of the tokens handed out while every class waited, by the
// broker's own account.
func share(t *testing.T, classes []wire.ClassStatus, model, name string) float64 {
	t.Helper()
	for _, c := range classes {
		if c.Model == model && c.Class == name {
			return c.Share
		}
	}
	t.Fatal(errNoClass, name)
	return 0
}

func parse(t *testing.T, text string) *policy.Policy {
	t.Helper()
	p, err := policy.Parse("policy", []byte(text))
	must(t, err)
	return p
}
