package demo

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"time"

	"fairlead/agent/engine/mock"
	"fairlead/trace"
)

const (
	replayWorkers = 4
	replaySlots   = 8
	replayStride  = 8   // output tokens in one chunk
	replayJitter  = 0.1 // of an engine's step

	// overload is how much more work arrives than the fleet of replayWorkers can
	// do, so that every class queues, also one with three quarters of the tokens.
	overload = 2.5
	// arrivals is how long the arrivals of a trace take unless --speedup says
	// otherwise, by the wall clock.
	arrivals = 6 * time.Second

	// stepTokens is how many prompt tokens an engine prefills in the time of one
	// decode step; meanBatch how many sequences share such a step, on average.
	stepTokens = 100
	meanBatch  = 6
	minRate    = 2000 // prompt tokens per second, of the slowest engine worth showing
)

// replay is a recorded trace. Engines are as fast as makes the trace an overload
// for the usual number of workers; then both run speedup times faster.
func replay(o Options) (*Scenario, error) {
	title, reqs, text, err := recorded(o)
	if err != nil {
		return nil, err
	}
	limit := defaultRequests
	if o.Requests != 0 {
		limit = o.Requests
	}
	reqs = reqs[:min(limit, len(reqs))]
	if text == "" {
		text = plainYAML(trace.Classes(reqs))
	}
	span := max(reqs[len(reqs)-1].At, time.Second)
	s := &Scenario{Title: title, Speedup: max(1, float64(span)/float64(arrivals))}
	if o.Speedup != 0 {
		s.Speedup = o.Speedup
	}
	s.Fleet = Fleet{Workers: replayWorkers, Slots: replaySlots, Engine: replayEngine(reqs, span)}
	s.Fleet.Engine.Speedup = s.Speedup
	for _, r := range trace.Scale(reqs, 1/s.Speedup) {
		s.Requests = append(s.Requests, Request{
			At: r.At, Name: r.Class, Input: tokens(r.Input, 1), Cached: tokens(min(r.Cached, r.Input), 0), Output: tokens(r.Output, 1),
		})
	}
	s.Policy, err = parseOwn(text)
	return s, err
}

// recorded reads the trace. The policy is empty when the trace's classes are
// not known beforehand.
func recorded(o Options) (title string, reqs []trace.Request, policy string, err error) {
	if o.TraceFile == "" {
		return "Azure code and conversation traces", trace.Sample(), azureYAML, nil
	}
	f, err := os.Open(o.TraceFile)
	if err != nil {
		return "", nil, "", fmt.Errorf("--trace: %w", err)
	}
	defer f.Close()
	reqs, err = trace.Read(f, o.TraceFile)
	if err != nil {
		return "", nil, "", fmt.Errorf("--trace: %w", err)
	}
	reqs = trace.Spread(reqs, trace.MooncakeGrid, rand.New(rand.NewPCG(o.Seed, 0)))
	return filepath.Base(o.TraceFile), reqs, policyFor(trace.Classes(reqs)), nil
}

// policyFor is the Azure policy when it knows every class of the trace.
func policyFor(classes []string) string {
	for _, c := range classes {
		if !slices.Contains([]string{"conv", "code"}, c) {
			return ""
		}
	}
	if len(classes) < 2 {
		return "" // one class alone would never see the other backlogged
	}
	return azureYAML
}

// replayEngine is as fast as makes the trace an overload.
func replayEngine(reqs []trace.Request, span time.Duration) mock.Config {
	work := 0.0 // in prompt tokens
	for _, r := range reqs {
		work += float64(r.Input-r.Cached) + float64(r.Output)*stepTokens/meanBatch
	}
	rate := max(minRate, work/(overload*replayWorkers*span.Seconds()))
	return mock.Config{
		Models: []string{model}, Slots: replaySlots, PrefillRate: rate,
		TokenTime: time.Duration(stepTokens / rate * float64(time.Second)),
		Stride:    replayStride, Jitter: replayJitter,
	}
}

// tokens fits a count into a header; low is the least that can be asked for.
func tokens(n int, low uint32) uint32 { return max(low, uint32(min(n, maxTokens))) }

// maxTokens is the most that the mock engine takes and a header may hold.
const maxTokens = 1 << 20
