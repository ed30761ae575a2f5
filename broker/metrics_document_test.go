package broker

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"fairlead/broker/arbiter"
	"fairlead/internal/metricsdoc"
	"fairlead/internal/store"
	"fairlead/wire"
)

// everything is a registry in which every metric has a value.
func everything(t *testing.T) *prometheus.Registry {
	t.Helper()
	reg := prometheus.NewPedanticRegistry()
	m := newMetrics(reg)
	for _, act := range []arbiter.Action{
		arbiter.HandOut{Claim: wire.Claim{Model: "m", Class: "a"}, Cost: 7, Wait: time.Second},
		arbiter.Finish{Model: "m", Class: "a", Done: wire.Done{Status: wire.StatusOK, Attempt: 1}, Sojourn: time.Second, WaitTTFT: time.Second},
		arbiter.StoreVerdict{Model: "m", Verdict: wire.Verdict{Class: "a", Reason: wire.AttemptsExhausted, Attempt: 3, RetryAfterMS: 1000, Dead: true}},
		arbiter.Notice{Kind: arbiter.NoticeUnknownClass, Model: "m"},
	} {
		m.observe(act)
	}
	m.unreadable("done")
	reg.MustRegister(still{newScrape(&Broker{metrics: m}), &view{
		status: wire.BrokerStatus{
			Classes: []wire.ClassStatus{{Model: "m", Class: "a", Jain: 1}},
			Workers: []wire.WorkerStatus{{Worker: "w1", State: "ready", Models: []string{"m"}}},
		},
		kept:    map[string]int{"REQ": 1},
		streams: map[string]store.Range{"REQ": {MaxBytes: 1}},
	}})
	return reg
}

// still collects a view that a test made.
type still struct {
	*scrape
	seen *view
}

func (s still) Collect(out chan<- prometheus.Metric) {
	e := emitter{out: out, fams: s.fams, models: &s.b.metrics.models}
	e.policy(wire.PolicyStatus{})
	e.view(s.seen)
}

// TestDocument compares docs/metrics.md with the registry, in both directions.
func TestDocument(t *testing.T) {
	gathered, err := everything(t).Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range gathered {
		if f.GetHelp() == "" || !strings.HasSuffix(f.GetHelp(), ".") {
			t.Errorf("%s: help %q; want a sentence", f.GetName(), f.GetHelp())
		}
	}
	page, err := metricsdoc.Read("../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	inCode := metricsdoc.InCode(gathered)
	if len(inCode) < 40 {
		t.Fatalf("only %d metrics", len(inCode))
	}
	if diff := cmp.Diff(inCode, metricsdoc.Of(page)); diff != "" {
		t.Errorf("-code +docs/metrics.md\n%s", diff)
	}
}

// TestLabelsAreBounded: what clients and agents invent makes no series of its own,
// and nothing that is no text makes a scrape fail.
func TestLabelsAreBounded(t *testing.T) {
	reg := prometheus.NewPedanticRegistry()
	m := newMetrics(reg)
	long := strings.Repeat("é", 100) // cut in the middle of a letter
	m.observe(arbiter.HandOut{Claim: wire.Claim{Model: long, Class: "a"}})
	m.observe(arbiter.HandOut{Claim: wire.Claim{Model: "bad\xff", Class: "a"}})
	for _, invented := range []string{"x", "y", "z"} {
		m.observe(arbiter.StoreVerdict{Model: invented, Verdict: wire.Verdict{Class: "a", Reason: wire.NoWorker}})
		m.observe(arbiter.Finish{Model: invented, Class: "a", Done: wire.Done{Status: wire.Status(invented), Reason: wire.Reason(invented)}})
	}
	for i := range 2 * mostModels {
		m.models.serve(strings.Repeat("m", i%60) + string(rune('a'+i/60)))
	}
	reg.MustRegister(still{newScrape(&Broker{metrics: m}), &view{status: wire.BrokerStatus{Classes: []wire.ClassStatus{
		{Model: "x", Class: "a", Queued: 1, OldestWaitMS: 5000}, {Model: "y", Class: "a", Queued: 2, OldestWaitMS: 7000}, {Class: "a", Queued: 4},
	}}}})
	gathered, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	series := map[string]int{}
	for _, f := range gathered {
		series[f.GetName()] = len(f.GetMetric())
		if f.GetName() == "fairlead_queued_requests" {
			if sum := f.GetMetric()[1].GetGauge().GetValue(); sum != 3 {
				t.Errorf("queued for models that nobody serves: %v, want 3", sum)
			}
		}
		if f.GetName() == "fairlead_oldest_wait_seconds" {
			if oldest := f.GetMetric()[1].GetGauge().GetValue(); oldest != 7 {
				t.Errorf("oldest wait for models that nobody serves: %v, want 7", oldest)
			}
		}
	}
	want := map[string]int{"fairlead_dispatched_total": 2, "fairlead_verdicts_total": 1, "fairlead_finished_total": 1, "fairlead_queued_requests": 2, "fairlead_deficit_tokens": 1}
	for name, n := range want {
		if series[name] != n {
			t.Errorf("%s: %d series, want %d", name, series[name], n)
		}
	}
	if len(m.models.known) != mostModels {
		t.Errorf("%d models kept, want %d", len(m.models.known), mostModels)
	}
}
