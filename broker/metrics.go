package broker

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/time/rate"

	"fairlead/broker/arbiter"
	"fairlead/wire"
)

// metrics derives what is counted from the arbiter's actions, here and nowhere
// else. What a leader's state says is read when it is asked for: see [scrape].
// docs/metrics.md describes all of them, and a test compares it with them.
type metrics struct {
	leader       prometheus.Gauge
	epoch        prometheus.Gauge
	takeovers    prometheus.Counter
	policyErrors prometheus.Counter
	retries      prometheus.Counter
	fenced       prometheus.Histogram
	notices      *prometheus.CounterVec
	bad          *prometheus.CounterVec

	dispatched *prometheus.CounterVec
	charged    *prometheus.CounterVec
	served     *prometheus.CounterVec
	finished   *prometheus.CounterVec
	verdicts   *prometheus.CounterVec
	dead       *prometheus.CounterVec
	lost       prometheus.Counter
	unknown    *prometheus.CounterVec
	wait       *prometheus.HistogramVec
	ttft       *prometheus.HistogramVec
	sojourn    *prometheus.HistogramVec
	retryAfter *prometheus.HistogramVec
	attempts   *prometheus.HistogramVec

	models models

	mu     sync.Mutex // guards limits
	limits map[arbiter.NoticeKind]*rate.Limiter
}

// Buckets. Waits span a millisecond to an hour: queues are longer than RPCs.
var (
	waitBuckets    = []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 180, 600, 3600}
	writeBuckets   = []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 5, 20}
	attemptBuckets = []float64{1, 2, 3, 4, 5, 10, 20}
)

func newMetrics(reg prometheus.Registerer) *metrics {
	f := factory{reg}
	class := []string{"model", "class"}
	return &metrics{
		leader:       f.gauge("fairlead_leader", "1 while this broker leads and decides, else 0."),
		epoch:        f.gauge("fairlead_epoch", "Epoch of the term, 0 while standing by."),
		takeovers:    f.counter("fairlead_takeovers_total", "Terms in which this broker came to decide.").WithLabelValues(),
		policyErrors: f.counter("fairlead_policy_errors_total", "Stored policies that this broker cannot serve.").WithLabelValues(),
		retries:      f.counter("fairlead_store_retries_total", "Store operations that had to be repeated.").WithLabelValues(),
		fenced:       f.histogram("fairlead_fenced_write_seconds", "Time of a fenced write: of a claim, a verdict, or the deficits.", writeBuckets).WithLabelValues().(prometheus.Histogram),
		notices:      f.counter("fairlead_notices_total", "Things worth counting: workers joined and lost, requests put back, late results.", "kind"),
		bad:          f.counter("fairlead_unreadable_total", "Messages of workers, or in WORK, that could not be read.", "kind"),

		dispatched: f.counter("fairlead_dispatched_total", "Requests handed out, attempts counted singly.", class...),
		charged:    f.counter("fairlead_dispatched_tokens_total", "Tokens charged for hand-outs: the uncached ones, and the estimate of the output.", class...),
		served:     f.counter("fairlead_served_tokens_total", "Tokens that engines report of requests that ended well, by kind.", "model", "class", "kind"),
		finished:   f.counter("fairlead_finished_total", "Requests ended by a worker, by status and reason.", "model", "class", "status", "reason"),
		verdicts:   f.counter("fairlead_verdicts_total", "Requests ended by the broker itself, by reason.", "model", "class", "reason"),
		dead:       f.counter("fairlead_dead_letters_total", "Requests given up and kept in DEAD, by reason.", "model", "class", "reason"),
		lost:       f.counter("fairlead_dead_letters_lost_total", "Requests given up that no message in DEAD could carry.").WithLabelValues(),
		unknown:    f.counter("fairlead_unknown_classes_total", "Requests that named a class that the policy does not know.", "model"),
		wait:       f.histogram("fairlead_wait_seconds", "From being asked to being handed out.", waitBuckets, class...),
		ttft:       f.histogram("fairlead_ttft_seconds", "From being asked to the first token, of requests that streamed one.", waitBuckets, class...),
		sojourn:    f.histogram("fairlead_sojourn_seconds", "From being asked to the end.", waitBuckets, class...),
		retryAfter: f.histogram("fairlead_retry_after_seconds", "Retry-After given to refused requests.", waitBuckets, class...),
		attempts:   f.histogram("fairlead_attempts", "Attempts that a request had when it ended.", attemptBuckets, class...),
		limits:     map[arbiter.NoticeKind]*rate.Limiter{},
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

func (f factory) histogram(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	h := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, labels)
	f.register(h)
	return h
}

func (m *metrics) role(r role, epoch uint64) {
	m.epoch.Set(float64(epoch))
	m.leader.Set(0)
	if r == roleLeader {
		m.leader.Set(1)
		m.takeovers.Inc()
	}
}

// observe counts an action.
func (m *metrics) observe(act arbiter.Action) {
	switch act := act.(type) {
	case arbiter.HandOut:
		m.models.serve(act.Claim.Model)
		model, class := m.models.label(act.Claim.Model), clean(act.Claim.Class)
		m.dispatched.WithLabelValues(model, class).Inc()
		m.charged.WithLabelValues(model, class).Add(float64(max(0, act.Cost)))
		m.wait.WithLabelValues(model, class).Observe(act.Wait.Seconds())
	case arbiter.Finish:
		m.finish(act)
	case arbiter.StoreVerdict:
		m.verdict(act)
	case arbiter.Notice:
		m.notices.WithLabelValues(string(act.Kind)).Inc()
		if act.Kind == arbiter.NoticeUnknownClass {
			m.unknown.WithLabelValues(m.models.label(act.Model)).Inc()
		}
	}
}

func (m *metrics) finish(act arbiter.Finish) {
	model, class := m.models.label(act.Model), clean(act.Class)
	d := &act.Done
	m.finished.WithLabelValues(model, class, statusLabel(d.Status), reasonLabel(d.Reason)).Inc()
	m.attempts.WithLabelValues(model, class).Observe(float64(d.Attempt))
	if act.Sojourn > 0 {
		m.sojourn.WithLabelValues(model, class).Observe(act.Sojourn.Seconds())
	}
	if d.Status != wire.StatusOK {
		return
	}
	if act.WaitTTFT > 0 {
		m.ttft.WithLabelValues(model, class).Observe(act.WaitTTFT.Seconds())
	}
	for kind, tokens := range map[string]int64{"prompt": d.Usage.Prompt, "cached": d.Usage.Cached, "output": d.Usage.Output} {
		m.served.WithLabelValues(model, class, kind).Add(float64(max(0, tokens))) // cached is -1 when the engine does not say
	}
}

func (m *metrics) verdict(act arbiter.StoreVerdict) {
	v := &act.Verdict
	model, class := m.models.label(act.Model), clean(v.Class)
	m.verdicts.WithLabelValues(model, class, reasonLabel(v.Reason)).Inc()
	if v.RetryAfterMS > 0 {
		m.retryAfter.WithLabelValues(model, class).Observe(float64(v.RetryAfterMS) / 1000)
	}
	if v.Attempt > 0 {
		m.attempts.WithLabelValues(model, class).Observe(float64(v.Attempt))
	}
	if v.Dead {
		m.dead.WithLabelValues(model, class, reasonLabel(v.Reason)).Inc()
	}
}

func (m *metrics) unreadable(kind string)         { m.bad.WithLabelValues(kind).Inc() }
func (m *metrics) deadLost()                      { m.lost.Inc() }
func (m *metrics) storeRetry()                    { m.retries.Inc() }
func (m *metrics) fencedWrite(took time.Duration) { m.fenced.Observe(took.Seconds()) }

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
