package broker_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"fairlead/broker"
	"fairlead/wire"
)

// gathered is every sample of a registry by name and labels, as "name{a,b}": the
// values of gauges and counters, the counts of histograms.
func gathered(t *testing.T, reg prometheus.Gatherer) map[string]float64 {
	t.Helper()
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	samples := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			var labels []string
			for _, l := range m.GetLabel() {
				labels = append(labels, l.GetValue())
			}
			value := m.GetGauge().GetValue() + m.GetCounter().GetValue() + float64(m.GetHistogram().GetSampleCount())
			samples[strings.TrimPrefix(f.GetName(), "fairlead_")+"{"+strings.Join(labels, ",")+"}"] = value
		}
	}
	return samples
}

// TestMetrics: the leader tells of its queues, workers and streams; a standby and
// one that has lost the lead tell nothing of them.
func TestMetrics(t *testing.T) {
	w := newWorld(t)
	registries := map[*running]*prometheus.Registry{}
	start := func() *running {
		reg := prometheus.NewPedanticRegistry()
		b := w.broker(func(c *broker.Config) { c.Registry = reg; c.Policy = mustPolicy(t, oneClass("")) })
		registries[b] = reg
		return b
	}
	one := start()
	w.awaitLeader(one)
	two := start()
	a := w.worker("w1", func(h *wire.Heartbeat) { h.Slots, h.IntervalMS = 1, 5000 })
	to := w.inbox()
	w.request("req.a", to, wire.HeaderInputTokens, "100", wire.HeaderCachedTokens, "30")
	first := a.take()
	first.report(wire.Done{Status: wire.StatusOK, Usage: wire.Usage{Prompt: 4, Cached: -1, Output: 1}})
	first.ack()
	w.request("req.nobody", to, wire.HeaderModel, "m") // the default class takes it
	run := a.take()
	w.request("req.a", to, wire.HeaderInputTokens, "100", wire.HeaderCachedTokens, "30")
	w.request("req.a", to, wire.HeaderModel, "invented")

	want := map[string]float64{
		"leader{}": 1, "takeovers_total{}": 1, "policy_version{}": 0,
		"queued_requests{a,m}": 1, "queued_tokens{a,raw,m}": 100, "queued_tokens{a,cached,m}": 30, "queued_tokens{a,uncached,m}": 70,
		"queued_requests{a,other}": 1, "running_requests{a,m}": 1, "entitlement_ratio{a,m}": 1,
		"worker_slots{w1}": 1, "worker_slots_used{w1}": 1, "worker_state{busy,w1}": 1,
		"dispatched_total{a,m}": 2, "wait_seconds{a,m}": 2, "finished_total{a,m,,ok}": 1, "attempts{a,m}": 1,
		"served_tokens_total{a,prompt,m}": 4, "served_tokens_total{a,cached,m}": 0, "unknown_classes_total{m}": 1,
		"stream_messages{REQ}": 3, "stream_messages{DEAD}": 0, "guards_in_use{}": 0, "purge_lag_messages{REQ}": 0, "purge_lag_messages{DONE}": 0,
	}
	var wrong []string
	defer func() {
		if len(wrong) > 0 {
			t.Error(strings.Join(wrong, "\n"))
		}
	}()
	eventually(t, "the leader's metrics", func() bool {
		got := gathered(t, registries[one])
		wrong = nil
		for name, value := range want {
			if v, ok := got[name]; !ok || v != value {
				wrong = append(wrong, fmt.Sprintf("%s is %v (%v), want %v", name, v, ok, value))
			}
		}
		return len(wrong) == 0 && got["oldest_wait_seconds{a,m}"] > 0 && got["fenced_write_seconds{}"] >= 2 && got["stream_bytes{REQ}"] > 0
	})
	eventually(t, "two scrapes share a look at the loop", func() bool {
		const took = "scrape_loop_seconds{}"
		return gathered(t, registries[one])[took] == gathered(t, registries[one])[took]
	})
	leaderOnly := []string{"queued_requests{a,m}", "worker_slots{w1}", "stream_messages{REQ}", "guards_in_use{}", "recovery_seconds{}"}
	silent := func(b *running) {
		t.Helper()
		got := gathered(t, registries[b])
		for _, name := range leaderOnly {
			if v, ok := got[name]; ok {
				t.Errorf("a broker that does not lead says %s %v", name, v)
			}
		}
		if got["leader{}"] != 0 || got["epoch{}"] != 0 && b == two {
			t.Errorf("leader %v, epoch %v", got["leader{}"], got["epoch{}"])
		}
	}
	silent(two)
	one.end()
	silent(one)
	w.awaitLeader(two)
	eventually(t, "the next leader's metrics", func() bool {
		got := gathered(t, registries[two])
		for _, name := range leaderOnly {
			if _, ok := got[name]; !ok {
				return false
			}
		}
		return got["queued_requests{a,m}"] == 1 && got["leader{}"] == 1
	})
	run.finish()
}

// TestPolicyMetrics: every broker says which policy it follows, standing by too.
func TestPolicyMetrics(t *testing.T) {
	w := newWorld(t)
	w.awaitLeader(w.broker(nil))
	reg := prometheus.NewPedanticRegistry()
	standby := w.broker(func(c *broker.Config) { c.Registry = reg })
	eventually(t, "it stands by", func() bool { return standby.State() == "standing by" })
	version := w.apply(named("a"))
	w.apply("nonsense: 1")
	eventually(t, "version and error", func() bool {
		got := gathered(t, reg)
		return got["policy_version{}"] == float64(version) && got["policy_errors_total{}"] == 1
	})
}
