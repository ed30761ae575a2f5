package broker

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/time/rate"

	"fairlead/broker/arbiter"
	"fairlead/wire"
)

// metrics derives everything that is counted from the arbiter's actions, here
// and nowhere else.
type metrics struct {
	leader     prometheus.Gauge
	epoch      prometheus.Gauge
	dispatched *prometheus.CounterVec
	tokens     *prometheus.CounterVec
	wait       *prometheus.HistogramVec
	ttft       *prometheus.HistogramVec
	sojourn    *prometheus.HistogramVec
	finished   *prometheus.CounterVec
	rejected   *prometheus.CounterVec
	notices    *prometheus.CounterVec
	bad        *prometheus.CounterVec
	retries    prometheus.Counter
	recovery   prometheus.Gauge

	policyErrors prometheus.Counter

	mu     sync.Mutex
	limits map[arbiter.NoticeKind]*rate.Limiter
}

// latency spans a millisecond to an hour: queues are longer than RPCs.
var latency = []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 180, 600, 3600}

func newMetrics(reg prometheus.Registerer) *metrics {
	f := factory{reg}
	class := []string{"model", "class"}
	return &metrics{
		leader:       f.gauge("fairlead_leader", "1 while this broker leads and decides, else 0."),
		epoch:        f.gauge("fairlead_epoch", "Epoch of the term, 0 while standing by."),
		dispatched:   f.counter("fairlead_dispatched_total", "Requests handed out, attempts counted singly.", class...),
		tokens:       f.counter("fairlead_dispatched_tokens_total", "Uncached tokens charged for hand-outs.", class...),
		wait:         f.histogram("fairlead_wait_seconds", "From being asked to being handed out.", class...),
		ttft:         f.histogram("fairlead_ttft_seconds", "From being asked to the first token, of requests that streamed one.", class...),
		sojourn:      f.histogram("fairlead_sojourn_seconds", "From being asked to the end.", class...),
		finished:     f.counter("fairlead_finished_total", "Requests ended by a worker, by status and reason.", "model", "class", "status", "reason"),
		rejected:     f.counter("fairlead_verdicts_total", "Requests ended by the broker itself, by reason.", "model", "class", "reason"),
		notices:      f.counter("fairlead_notices_total", "Things worth counting: unknown classes, workers joined and lost, requests put back, late results.", "kind"),
		bad:          f.counter("fairlead_unreadable_total", "Messages of workers that could not be read.", "kind"),
		retries:      f.counter("fairlead_store_retries_total", "Store operations that had to be repeated.").WithLabelValues(),
		policyErrors: f.counter("fairlead_policy_errors_total", "Stored policies that this broker cannot serve.").WithLabelValues(),
		recovery:     f.gauge("fairlead_recovery_seconds", "How long the last recovery took."),
		limits:       map[arbiter.NoticeKind]*rate.Limiter{},
	}
}

// factory makes metrics and registers them where there is a registry.
type factory struct{ reg prometheus.Registerer }

func (f factory) register(c prometheus.Collector) {
	if f.reg != nil {
		f.reg.MustRegister(c)
	}
}

func (f factory) gauge(name, help string) prometheus.Gauge {
	g := prometheus.NewGauge(prometheus.GaugeOpts{Name: name, Help: help})
	f.register(g)
	return g
}

func (f factory) counter(name, help string, labels ...string) *prometheus.CounterVec {
	c := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	f.register(c)
	return c
}

func (f factory) histogram(name, help string, labels ...string) *prometheus.HistogramVec {
	h := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: latency}, labels)
	f.register(h)
	return h
}

func (m *metrics) role(r role, epoch uint64) {
	m.epoch.Set(float64(epoch))
	m.leader.Set(0)
	if r == roleLeader {
		m.leader.Set(1)
	}
}

// observe counts an action.
func (m *metrics) observe(act arbiter.Action) {
	switch act := act.(type) {
	case arbiter.HandOut:
		model, class := bounded(act.Claim.Model), act.Claim.Class
		m.dispatched.WithLabelValues(model, class).Inc()
		m.tokens.WithLabelValues(model, class).Add(float64(act.Cost))
		m.wait.WithLabelValues(model, class).Observe(act.Wait.Seconds())
	case arbiter.Finish:
		model := bounded(act.Model)
		m.finished.WithLabelValues(model, act.Class, string(act.Done.Status), string(act.Done.Reason)).Inc()
		m.sojourn.WithLabelValues(model, act.Class).Observe(act.Sojourn.Seconds())
		if act.Done.Status == wire.StatusOK && act.WaitTTFT > 0 {
			m.ttft.WithLabelValues(model, act.Class).Observe(act.WaitTTFT.Seconds())
		}
	case arbiter.StoreVerdict:
		// A model that nobody serves is a client's invention: it gets no label.
		m.rejected.WithLabelValues("", act.Verdict.Class, string(act.Verdict.Reason)).Inc()
	case arbiter.Notice:
		m.notices.WithLabelValues(string(act.Kind)).Inc()
	}
}

// bounded keeps a label short: model names come from workers, and may be paths.
func bounded(model string) string {
	if len(model) > 64 {
		return model[:64]
	}
	return model
}

func (m *metrics) unreadable(kind string)    { m.bad.WithLabelValues(kind).Inc() }
func (m *metrics) storeRetry()               { m.retries.Inc() }
func (m *metrics) recovered(d time.Duration) { m.recovery.Set(d.Seconds()) }

// sometimes bounds the rate of a notice in the log.
func (m *metrics) sometimes(kind arbiter.NoticeKind) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	l := m.limits[kind]
	if l == nil {
		l = rate.NewLimiter(1, 5)
		m.limits[kind] = l
	}
	return l.Allow()
}
