package gateway

import (
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// metrics is what a gateway counts. Every label is from a closed list.
type metrics struct {
	requests   *prometheus.CounterVec
	errors     *prometheus.CounterVec
	inFlight   *prometheus.GaugeVec
	streams    prometheus.Gauge
	firstChunk *prometheus.HistogramVec
	seconds    *prometheus.HistogramVec
	tokens     *prometheus.CounterVec
	bytes      *prometheus.CounterVec
	bodyBytes  prometheus.Gauge
	abandoned  prometheus.Counter
	counting   prometheus.Histogram
	batches    prometheus.Gauge
	lines      *prometheus.CounterVec
}

func newMetrics(reg prometheus.Registerer) (*metrics, error) {
	slow := prometheus.ExponentialBuckets(0.005, 2, 18)  // 5 ms to 11 min
	quick := prometheus.ExponentialBuckets(0.0001, 4, 8) // 0.1 ms to 1.6 s
	counter := func(name, help string) prometheus.CounterOpts {
		return prometheus.CounterOpts{Name: "fairlead_gateway_" + name, Help: help}
	}
	gauge := func(name, help string) prometheus.GaugeOpts {
		return prometheus.GaugeOpts{Name: "fairlead_gateway_" + name, Help: help}
	}
	histogram := func(name, help string, buckets []float64) prometheus.HistogramOpts {
		return prometheus.HistogramOpts{Name: "fairlead_gateway_" + name, Help: help, Buckets: buckets}
	}
	m := &metrics{
		requests:   prometheus.NewCounterVec(counter("requests_total", "HTTP requests by path and status; 499 has left before its answer."), []string{"path", "status"}),
		errors:     prometheus.NewCounterVec(counter("errors_total", "Errors that clients were told, by code."), []string{"code"}),
		inFlight:   prometheus.NewGaugeVec(gauge("in_flight", "Requests under way."), []string{"path"}),
		streams:    prometheus.NewGauge(gauge("streams", "Streams that are open.")),
		firstChunk: prometheus.NewHistogramVec(histogram("first_chunk_seconds", "From a streaming request to its first chunk.", slow), []string{"path"}),
		seconds:    prometheus.NewHistogramVec(histogram("request_seconds", "From a request to the end of its answer.", slow), []string{"path"}),
		tokens:     prometheus.NewCounterVec(counter("tokens_total", "Tokens that engines report, by kind: prompt (cached ones included), cached, output."), []string{"kind"}),
		bytes:      prometheus.NewCounterVec(counter("bytes_total", "Bytes of bodies, by direction: in, out."), []string{"direction"}),
		bodyBytes:  prometheus.NewGauge(gauge("body_bytes", "Memory that bodies of requests take.")),
		abandoned:  prometheus.NewCounter(counter("abandoned_total", "Requests that were cancelled because their client left or read too slowly.")),
		counting:   prometheus.NewHistogram(histogram("count_seconds", "Time to read a body and count its tokens.", quick)),
		batches:    prometheus.NewGauge(gauge("batches", "Batches that run here.")),
		lines:      prometheus.NewCounterVec(counter("batch_lines_total", "Lines of batches that got a result here: ok, error."), []string{"result"}),
	}
	for _, c := range []prometheus.Collector{
		m.requests, m.errors, m.inFlight, m.streams, m.firstChunk, m.seconds, m.tokens, m.bytes, m.bodyBytes, m.abandoned, m.counting, m.batches, m.lines,
	} {
		if err := reg.Register(c); err != nil {
			return nil, fmt.Errorf("metrics: %w", err)
		}
	}
	return m, nil
}

// timed measures until the function that it returns is called.
func (m *metrics) timed(h prometheus.Observer) func() {
	start := time.Now()
	return func() { h.Observe(time.Since(start).Seconds()) }
}

// line counts a line of a batch.
func (m *metrics) line(ok bool) {
	result := "error"
	if ok {
		result = "ok"
	}
	m.lines.WithLabelValues(result).Inc()
}
