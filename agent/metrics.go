package agent

import (
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"fairlead/wire"
)

// metrics is what the agent counts. All of it is derived from reports, in the
// loop.
type metrics struct {
	requests   *prometheus.CounterVec
	tokens     *prometheus.CounterVec
	inFlight   prometheus.Gauge
	firstToken prometheus.Histogram
	total      *prometheus.HistogramVec
	speed      prometheus.Gauge
	engine     *engineMetrics
}

func newMetrics(reg prometheus.Registerer) (*metrics, error) {
	buckets := prometheus.ExponentialBuckets(0.005, 2, 18) // 5 ms to 11 min
	m := &metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "fairlead_agent_requests_total", Help: "Executions by how they ended.",
		}, []string{"status", "reason"}),
		tokens: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "fairlead_agent_tokens_total", Help: "Tokens by kind: prompt (cached ones included), cached, output.",
		}, []string{"kind"}),
		inFlight: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "fairlead_agent_in_flight", Help: "Claims taken and not yet settled.",
		}),
		firstToken: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "fairlead_agent_first_token_seconds", Help: "From taking a claim to its first token.", Buckets: buckets,
		}),
		total: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "fairlead_agent_request_seconds", Help: "From taking a claim to the end of its engine call.", Buckets: buckets,
		}, []string{"status"}),
		speed: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "fairlead_agent_prefill_tokens_per_second", Help: "Uncached prompt tokens a second, learned from this agent's own work; 0 before.",
		}),
		engine: newEngineMetrics(),
	}
	for _, c := range append(m.engine.collectors(), m.requests, m.tokens, m.inFlight, m.firstToken, m.total, m.speed) {
		if err := reg.Register(c); err != nil {
			return nil, fmt.Errorf("metrics: %w", err)
		}
	}
	return m, nil
}

// beat shows what a heartbeat says.
func (m *metrics) beat(hb *wire.Heartbeat, inFlight int) {
	m.inFlight.Set(float64(inFlight))
	m.speed.Set(hb.Learned)
	m.engine.beat(hb)
}

// settled counts an execution that has ended.
func (m *metrics) settled(d *wire.Done) {
	m.requests.WithLabelValues(string(d.Status), string(d.Reason)).Inc()
	m.tokens.WithLabelValues("prompt").Add(float64(d.Usage.Prompt))
	m.tokens.WithLabelValues("cached").Add(float64(max(d.Usage.Cached, 0)))
	m.tokens.WithLabelValues("output").Add(float64(d.Usage.Output))
	m.total.WithLabelValues(string(d.Status)).Observe(seconds(d.TotalMS))
	if d.FirstMS > 0 {
		m.firstToken.Observe(seconds(d.FirstMS))
	}
}

func seconds(ms int64) float64 { return (time.Duration(ms) * time.Millisecond).Seconds() }
