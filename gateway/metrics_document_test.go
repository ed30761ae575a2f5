package gateway

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"fairlead/internal/metricsdoc"
)

// TestMetricsDocument compares docs/metrics.md with the registry, in both
// directions.
func TestMetricsDocument(t *testing.T) {
	reg := prometheus.NewPedanticRegistry()
	m, err := newMetrics(reg)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range []*prometheus.CounterVec{m.errors, m.tokens, m.bytes, m.lines} {
		v.WithLabelValues("x")
	}
	m.requests.WithLabelValues("x", "200")
	m.inFlight.WithLabelValues("x")
	m.firstChunk.WithLabelValues("x")
	m.seconds.WithLabelValues("x")
	gathered, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	page, err := metricsdoc.Read("../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(metricsdoc.InCode(gathered), metricsdoc.Of(page, "fairlead_gateway_")); diff != "" {
		t.Errorf("-code +docs/metrics.md\n%s", diff)
	}
}
