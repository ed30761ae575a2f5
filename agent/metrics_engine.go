package agent

import (
	"github.com/prometheus/client_golang/prometheus"

	"fairlead/agent/engine"
	"fairlead/wire"
)

// engineMetrics show what the engine says of itself. A gauge whose value is unknown
// has no series: 0 would say idle.
type engineMetrics struct {
	healthy prometheus.Gauge
	info    *prometheus.GaugeVec
	scrapes *prometheus.CounterVec
	running, waiting, kv,
	blocks, age, context, vram *prometheus.GaugeVec
}

func newEngineMetrics() *engineMetrics {
	gauge := func(name, help string, labels ...string) *prometheus.GaugeVec {
		return prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "fairlead_agent_engine_" + name, Help: help}, labels)
	}
	return &engineMetrics{
		healthy: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "fairlead_agent_engine_healthy", Help: "1 while the engine answers its health check.",
		}),
		info: gauge("info", "1, with the kind of the engine and its version.", "kind", "version"),
		scrapes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "fairlead_agent_engine_scrapes_total", Help: "Questions to the engine for its load, by how they ended: ok or failed.",
		}, []string{"result"}),
		running: gauge("running_requests", "Requests that the engine says are running."),
		waiting: gauge("waiting_requests", "Requests that the engine says are waiting inside it."),
		kv:      gauge("kv_ratio", "Fraction of the engine's KV cache in use, 0 to 1."),
		blocks:  gauge("kv_blocks", "KV blocks of the engine, of all its ranks."),
		age:     gauge("scrape_age_seconds", "Age of what the engine last said of its load."),
		context: gauge("context_tokens", "Longest sequence that the engine takes."),
		vram:    gauge("vram_bytes", "Memory of the models that the engine has loaded."),
	}
}

func (m *engineMetrics) collectors() []prometheus.Collector {
	return []prometheus.Collector{m.healthy, m.info, m.scrapes, m.running, m.waiting, m.kv, m.blocks, m.age, m.context, m.vram}
}

// beat shows what a heartbeat says of the engine.
func (m *engineMetrics) beat(hb *wire.Heartbeat) {
	m.healthy.Set(0)
	if hb.Healthy {
		m.healthy.Set(1)
	}
	m.info.Reset() // a kind that was found out, a version that changed
	m.info.WithLabelValues(hb.Engine, hb.EngineVersion).Set(1)
	show(m.running, hb.EngineRunning)
	show(m.waiting, hb.EngineWaiting)
	show(m.kv, hb.EngineKV)
	showKnown(m.blocks, int64(hb.Blocks))
	m.age.Reset()
	if hb.EngineAgeMS != nil {
		m.age.WithLabelValues().Set(seconds(int64(*hb.EngineAgeMS)))
	}
}

// scraped counts a question to the engine.
func (m *engineMetrics) scraped(load engine.Load, err error) {
	if err != nil {
		m.scrapes.WithLabelValues("failed").Inc()
		return
	}
	m.scrapes.WithLabelValues("ok").Inc()
	showKnown(m.context, load.Context)
	showKnown(m.vram, load.VRAM)
}

func show[T uint32 | float64](to *prometheus.GaugeVec, value *T) {
	to.Reset()
	if value != nil {
		to.WithLabelValues().Set(float64(*value))
	}
}

func showKnown(to *prometheus.GaugeVec, value int64) {
	to.Reset()
	if value > 0 {
		to.WithLabelValues().Set(float64(value))
	}
}
