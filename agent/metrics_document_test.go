package agent

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"fairlead/agent/engine"
	"fairlead/internal/metricsdoc"
	"fairlead/wire"
)

// TestDocument compares docs/metrics.md with the registry, in both directions.
func TestDocument(t *testing.T) {
	reg := prometheus.NewPedanticRegistry()
	m, err := newMetrics(reg)
	if err != nil {
		t.Fatal(err)
	}
	m.settled(&wire.Done{Status: wire.StatusOK, FirstMS: 1})
	m.beat(&wire.Heartbeat{EngineRunning: new(uint32(1)), EngineWaiting: new(uint32(1)), EngineKV: new(0.5), EngineAgeMS: new(uint32(1)), Blocks: 1}, 1)
	m.engine.scraped(engine.Load{Context: 1, VRAM: 1}, nil)
	gathered, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range gathered {
		if !strings.HasSuffix(f.GetHelp(), ".") {
			t.Errorf("%s: help %q; want a sentence", f.GetName(), f.GetHelp())
		}
	}
	page, err := metricsdoc.Read("../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	inCode := metricsdoc.InCode(gathered)
	if len(inCode) < 16 {
		t.Fatalf("only %d metrics", len(inCode))
	}
	if diff := cmp.Diff(inCode, metricsdoc.Of(page, "fairlead_agent_")); diff != "" {
		t.Errorf("-code +docs/metrics.md\n%s", diff)
	}
}
