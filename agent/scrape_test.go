package agent

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"fairlead/agent/engine"
	"fairlead/agent/engine/enginetest"
	"fairlead/agent/engine/kinds"
	"fairlead/agent/engine/openai"
	"fairlead/wire"
)

// TestKinds: an agent beside each kind of engine serves a request, counts what the
// engine counts, and reports the engine's load.
func TestKinds(t *testing.T) {
	w := newWorldWithStreams(t)
	for kind, want := range map[string]struct {
		running, waiting any
		cached           int64
		version          string
		block            uint32
	}{
		"vllm":     {uint32(5), uint32(4), 8, "0.11.0", 32},
		"sglang":   {uint32(6), uint32(2), 8, "0.4.6", 64},
		"trtllm":   {uint32(5), uint32(1), -1, "1.2.0", 32},
		"triton":   {uint32(7), uint32(2), -1, "", 64},
		"tgi":      {uint32(4), uint32(1), -1, "3.3.5", 0},
		"llamacpp": {uint32(2), uint32(3), 8, "b8681-abc", 0},
		"ollama":   {nil, nil, -1, "0.12.3", 0},
	} {
		t.Run(kind, func(t *testing.T) {
			defer w.in(t)()
			eng, err := kinds.New(kinds.Config{Config: openai.Config{URL: enginetest.New(t, kind).URL}})
			w.must(err)
			t.Cleanup(func() { eng.Close() })
			reg := prometheus.NewRegistry()
			r := w.start(eng, func(c *Config) { c.Metrics = reg })
			h := receive(t, "a heartbeat with the load", r.beats, func(h *wire.Heartbeat) bool { return h.Healthy && h.EngineAgeMS != nil })
			if value(h.EngineRunning) != want.running || value(h.EngineWaiting) != want.waiting ||
				h.EngineVersion != want.version || h.BlockTokens != want.block || h.Engine != kind || len(h.Models) != 1 {
				t.Errorf("heartbeat %+v", h)
			}
			subject, results := w.inbox()
			id := w.ask(request{body: streaming, header: map[string]string{wire.HeaderReplyTo: subject}})
			r.hand(wire.Claim{ID: id, Input: 100})
			if d := r.done(); d.Status != wire.StatusOK || d.Usage != (wire.Usage{Prompt: 12, Cached: want.cached, Output: 2}) {
				t.Errorf("DONE %+v", d)
			}
			for final := false; !final; {
				m, _ := w.next(results)
				final = m.Final
			}
			receive(t, "a learned speed", r.beats, func(h *wire.Heartbeat) bool { return h.Learned > 0 && h.Speed == 0 })
			series := testutil.CollectAndCount(reg, "fairlead_agent_engine_running_requests")
			if told := want.running != nil; told != (series == 1) {
				t.Errorf("%d series of running requests; told: %v", series, told)
			}
		})
	}
}

func value(p *uint32) any {
	if p == nil {
		return nil
	}
	return *p
}

// teller is an engine whose load a test decides.
type teller struct {
	*fake
	mu   sync.Mutex // guards the rest
	load engine.Load
	err  error
}

func (e *teller) Load(context.Context) (engine.Load, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	load := e.load
	load.At = time.Now()
	return load, e.err
}

func (e *teller) tell(load engine.Load, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.load, e.err = load, err
}

// TestStaleLoadIsUnknown: when the scrapes fail, the last one is believed for a
// while, and then nothing is, without anybody being taken out of service.
func TestStaleLoadIsUnknown(t *testing.T) {
	w := newWorldWithStreams(t)
	eng := &teller{fake: newFake()}
	full := engine.Load{Running: new(uint32(9)), Waiting: new(uint32(7)), KV: new(0.99), BlockTokens: 64, Blocks: 100, Slots: 1, Version: "1"}
	eng.tell(full, nil)
	reg := prometheus.NewRegistry()
	r := w.start(eng, func(c *Config) { c.Metrics = reg })
	r.log.says(t, "fewer requests at once")
	receive(t, "the load", r.beats, func(h *wire.Heartbeat) bool { return h.EngineKV != nil && *h.EngineKV == 0.99 && h.Blocks == 100 })
	eng.tell(engine.Load{}, errors.New("no route to the engine"))
	r.log.says(t, "no route to the engine")
	h := receive(t, "unknown load", r.beats, func(h *wire.Heartbeat) bool { return h.EngineAgeMS == nil })
	if h.EngineRunning != nil || h.EngineWaiting != nil || h.EngineKV != nil || !h.Healthy || h.HoldMS != 0 || h.BlockTokens != 64 {
		t.Errorf("heartbeat %+v; want an unknown load of a healthy engine", h)
	}
	w.must(r.agent.Ready())
	if n := testutil.CollectAndCount(reg, "fairlead_agent_engine_kv_ratio", "fairlead_agent_engine_scrape_age_seconds"); n != 0 {
		t.Errorf("%d series show a load that is unknown", n)
	}
	eng.tell(engine.Load{Running: new(uint32(0))}, nil)
	receive(t, "an idle engine", r.beats, func(h *wire.Heartbeat) bool {
		return h.EngineRunning != nil && *h.EngineRunning == 0 && h.EngineKV == nil
	})
	r.log.says(t, "the engine tells its load")
}

// TestFresh: three intervals, and not a moment more.
func TestFresh(t *testing.T) {
	now := time.Now()
	s := scrapes{every: time.Second}
	if _, ok := s.fresh(now); ok {
		t.Error("a load before the first scrape")
	}
	s.last.At = now
	for age, want := range map[time.Duration]bool{0: true, 3 * time.Second: true, 3*time.Second + 1: false} {
		if _, ok := s.fresh(now.Add(age)); ok != want {
			t.Errorf("after %s: %v, want %v", age, ok, want)
		}
	}
}

// TestBlocks: what the engine says of its blocks is what decode is counted in,
// unless the configuration knows better.
func TestBlocks(t *testing.T) {
	for _, tc := range []struct{ configured, told, want int }{{0, 0, 16}, {0, 64, 64}, {32, 64, 32}} {
		l := &loop{Agent: &Agent{cfg: Config{BlockTokens: tc.configured}}}
		l.scrapes.last.BlockTokens = int64(tc.told)
		if got := l.blockTokens(); got != tc.want {
			t.Errorf("%+v: got %d", tc, got)
		}
	}
}

// TestSilentEngine: an engine of a kind that never tells its load is no failure.
func TestSilentEngine(t *testing.T) {
	w := newWorldWithStreams(t)
	eng := &teller{fake: newFake()}
	eng.tell(engine.Load{}, engine.ErrNoLoad)
	r := w.start(eng, nil)
	h := r.ready()
	if h.EngineAgeMS != nil || h.EngineRunning != nil {
		t.Errorf("heartbeat %+v", h)
	}
	r.log.says(t, "registered")
	for {
		select {
		case line := <-r.log:
			if strings.Contains(line, "does not tell its load") {
				t.Error(line)
			}
			continue
		default:
		}
		return
	}
}
