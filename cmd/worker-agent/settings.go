package main

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/spf13/pflag"

	"fairlead/agent"
	"fairlead/agent/engine"
	"fairlead/agent/engine/kinds"
	"fairlead/agent/engine/mock"
	"fairlead/agent/engine/openai"
	"fairlead/internal/access"
	"fairlead/internal/daemon"
	"fairlead/wire"
)

// settings is what the command line, the environment and the file can say.
type settings struct {
	daemon.Common
	access.Access
	natsURL           string
	namespace, worker string
	engine            string
	engineURL         string
	engineMetricsURL  string
	engineKey         string
	engineStall       time.Duration
	models, taints    []string
	replyPrefixes     []string
	slots, ranks      int
	maxBatched        uint32
	speed             float64
	heartbeat         time.Duration
	listenGrace       time.Duration
	attemptTimeout    time.Duration
	mock              mock.Config
	mockFailures      []string
	mockRetryAfter    time.Duration
}

// addFlags adds every flag with its default.
func (s *settings) addFlags(f *pflag.FlagSet) {
	s.Common.AddFlags(f)
	f.StringVar(&s.natsURL, "nats-url", nats.DefaultURL, "NATS servers, separated by commas")
	s.Access.AddFlags(f)
	f.StringVar(&s.namespace, "namespace", "", "namespace of the Fairlead, as the broker has it")
	f.StringVar(&s.worker, "worker", defaultWorker(), "stable id of this worker: 1 to 64 of A-Z a-z 0-9 _ -")
	f.Lookup("worker").DefValue = "the host's name" // in the help, where that of one host says nothing
	f.StringVar(&s.engine, "engine", kinds.Auto, "kind of engine: auto finds out, openai is any other OpenAI-compatible one, mock makes answers up; or "+strings.Join(tellingKinds(), ", "))
	f.StringVar(&s.engineURL, "engine-url", "http://127.0.0.1:8000", "where the engine is (all but mock)")
	f.StringVar(&s.engineMetricsURL, "engine-metrics-url", "", "where the engine tells its load, when that is not its URL, such as Triton's port 8002 (all but mock)")
	f.StringVar(&s.engineKey, "engine-api-key", "", "bearer token for the engine (all but mock)")
	f.DurationVar(&s.engineStall, "engine-stall", 10*time.Minute, "give the engine up when it sends nothing for so long (all but mock)")
	f.StringSliceVar(&s.models, "model", nil, "models to announce, separated by commas; by default the engine is asked")
	f.StringSliceVar(&s.taints, "taint", nil, "taints of this worker, separated by commas")
	f.StringSliceVar(&s.replyPrefixes, "reply-prefix", wire.DefaultReplyPrefixes(), "what reply subjects must start with; empty allows any")
	f.IntVar(&s.slots, "slots", 8, "requests at once, on each data-parallel rank")
	f.IntVar(&s.ranks, "ranks", 1, "data-parallel ranks of the engine")
	f.Uint32Var(&s.maxBatched, "max-batched-tokens", 0, "tokens the engine batches in one prefill step; 0 is unknown")
	f.Float64Var(&s.speed, "speed", 0, "uncached prompt tokens per second, of one rank; 0 is learned from streams")
	f.DurationVar(&s.heartbeat, "heartbeat", time.Second, "time between heartbeats, 50ms to 1m")
	f.DurationVar(&s.attemptTimeout, "attempt-timeout", time.Hour, "end an engine call that takes longer")
	f.DurationVar(&s.listenGrace, "listen-grace", 10*time.Second, "cancel the engine call when nobody has listened to the result for so long")
	s.addMockFlags(f)
	daemon.MarkSecret(f, "engine-api-key")
}

func (s *settings) addMockFlags(f *pflag.FlagSet) {
	m := &s.mock
	f.Float64Var(&m.PrefillRate, "mock-prefill-rate", 20_000, "uncached prompt tokens per second (mock)")
	f.DurationVar(&m.TokenTime, "mock-token-time", 20*time.Millisecond, "time for a token of one sequence (mock)")
	f.Float64Var(&m.BatchSlowdown, "mock-batch-slowdown", 0.02, "fraction of it that each further sequence adds (mock)")
	f.Int64Var(&m.Stride, "mock-stride", 1, "tokens decoded in one step, and sent in one chunk (mock)")
	f.Int64Var(&m.OutputTokens, "mock-output-tokens", 64, "length of an answer that nobody bounded (mock)")
	f.Float64Var(&m.Jitter, "mock-jitter", 0, "largest relative deviation of a step, 0 to 1 (mock)")
	f.Uint64Var(&m.Seed, "mock-seed", 0, "seed of jitter and failures (mock)")
	f.Float64Var(&m.Speedup, "mock-speedup", 1, "how much faster than life (mock)")
	f.BoolVar(&m.RefuseWhenFull, "mock-refuse-when-full", false, "say busy instead of queueing beyond the slots (mock)")
	f.StringSliceVar(&s.mockFailures, "mock-fail", nil, "failures as kind=probability or kind@n, of refuse, hang, die, slow (mock)")
	f.DurationVar(&s.mockRetryAfter, "mock-retry-after", time.Second, "Retry-After of a refusal (mock)")
}

// mockKind is the engine that needs no URL.
const mockKind = "mock"

// tellingKinds are the kinds that tell their load.
func tellingKinds() []string {
	return slices.DeleteFunc(kinds.Names(), func(k string) bool { return k == kinds.Auto || k == kinds.Plain })
}

// defaultWorker is the machine's name, as far as it is a worker id.
func defaultWorker() string {
	host, err := os.Hostname()
	host = strings.ReplaceAll(host, ".", "-")
	if err != nil || !wire.ValidToken(host) {
		return ""
	}
	return host
}

// newEngine makes the engine that the settings name.
func (s *settings) newEngine() (interface {
	engine.Engine
	io.Closer
}, error) {
	switch {
	case slices.Contains(kinds.Names(), s.engine):
		return kinds.New(kinds.Config{Kind: s.engine, MetricsURL: s.engineMetricsURL,
			Config: openai.Config{URL: s.engineURL, APIKey: s.engineKey, Models: s.models, Stall: s.engineStall}})
	case s.engine == mockKind:
		cfg := s.mock
		cfg.Models, cfg.Slots, cfg.MaxBatched = s.models, s.slots*s.ranks, int64(s.maxBatched)
		if cfg.BatchSlowdown == 0 {
			cfg.BatchSlowdown = -1 // the flag's 0 means none, not the default
		}
		for _, text := range s.mockFailures {
			f, err := mock.ParseFailure(text)
			if err != nil {
				return nil, fmt.Errorf("--mock-fail: %w", err)
			}
			f.RetryAfter = s.mockRetryAfter
			cfg.Failures = append(cfg.Failures, f)
		}
		return mock.New(cfg)
	default:
		return nil, fmt.Errorf("--engine %q: want one of %s, %s", s.engine, strings.Join(kinds.Names(), ", "), mockKind)
	}
}

// agentConfig turns the settings into an agent's; the engine is set by the caller.
func (s *settings) agentConfig() (agent.Config, error) {
	names, err := wire.NewNames(s.namespace)
	if err != nil {
		return agent.Config{}, err
	}
	cfg := agent.Config{
		URL: s.natsURL, Names: names, Worker: s.worker, Models: s.models, Taints: s.taints, ReplyPrefixes: s.replyPrefixes,
		Ranks: s.ranks, Slots: s.slots, MaxBatched: s.maxBatched, Speed: s.speed, Heartbeat: s.heartbeat, ListenGrace: s.listenGrace, AttemptTimeout: s.attemptTimeout,
	}
	cfg.APIPrefix = s.APIPrefix
	if cfg.Options, err = s.Options(); err != nil {
		return cfg, err
	}
	if s.engine == mockKind { // a mock knows itself
		cfg.MaxBatched = cmp.Or(cfg.MaxBatched, mock.DefaultMaxBatched)
		cfg.Speed = cmp.Or(cfg.Speed, s.mock.PrefillRate*s.mock.Speedup)
	}
	if s.slots == 0 || s.ranks == 0 {
		return cfg, fmt.Errorf("--slots %d, --ranks %d: want at least 1", s.slots, s.ranks)
	}
	return cfg, nil
}

// check reports what is wrong with the settings.
func (s *settings) check() error {
	eng, err := s.newEngine()
	if err != nil {
		return err
	}
	defer eng.Close()
	cfg, err := s.agentConfig()
	if err != nil {
		return err
	}
	cfg.Engine = eng
	_, err = agent.New(cfg)
	return err
}
