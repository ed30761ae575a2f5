package broker

import (
	"github.com/prometheus/client_golang/prometheus"

	"fairlead/wire"
)

// families are the gauges that a [scrape] fills in.
type families struct {
	policyVersion *prometheus.Desc

	queued, queuedTokens, oldest, running, lanes *prometheus.Desc // by class
	deficit, shared, share, entitlement          *prometheus.Desc
	tenants, jain                                *prometheus.Desc

	slots, used, prefill, state, seen *prometheus.Desc // by worker

	messages, bytes, limit, kept *prometheus.Desc // by stream

	guards, recovery, look *prometheus.Desc
	all                    []*prometheus.Desc
}

func newFamilies() *families {
	f := &families{}
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		d := prometheus.NewDesc("fairlead_"+name, help, labels, nil)
		f.all = append(f.all, d)
		return d
	}
	class := func(name, help string, more ...string) *prometheus.Desc {
		return desc(name, help, append([]string{"model", "class"}, more...)...)
	}
	f.policyVersion = desc("policy_version", "Version of the stored policy in force, 0 for this broker's own.")
	f.queued = class("queued_requests", "Requests that wait.")
	f.queuedTokens = class("queued_tokens", "Tokens of the prompts that wait, by kind.", "kind")
	f.oldest = class("oldest_wait_seconds", "Wait of the oldest request that waits.")
	f.running = class("running_requests", "Requests handed out and not finished.")
	f.lanes = class("exact_lanes", "Workers and ranks that requests pinned to them wait for.")
	f.deficit = class("deficit_tokens", "Tokens that the class may spend before its next visit.")
	f.shared = class("shared_tokens", "Tokens charged while every class of the model was backlogged, in this term.")
	f.share = class("share_ratio", "Part of the shared tokens that the class got.")
	f.entitlement = class("entitlement_ratio", "Part that its quantum entitles the class to.")
	f.tenants = class("queued_tenants", "Tenants with something queued, of classes with tenants.")
	f.jain = class("tenant_fairness_ratio", "Jain's index over the tenants that wait; 1 is equal.")
	f.slots = desc("worker_slots", "Requests that the worker takes at once.", "worker")
	f.used = desc("worker_slots_used", "Slots that are booked.", "worker")
	f.prefill = desc("worker_prefill_tokens", "Uncached tokens handed out without a first token.", "worker")
	f.state = desc("worker_state", "1 for the state that the worker is in.", "worker", "state")
	f.seen = desc("worker_silence_seconds", "Time since its last heartbeat.", "worker")
	f.messages = desc("stream_messages", "Messages in the stream.", "stream")
	f.bytes = desc("stream_bytes", "Size of the stream.", "stream")
	f.limit = desc("stream_limit_bytes", "Size that the stream may have; absent without a limit.", "stream")
	f.kept = desc("purge_lag_messages", "Messages that are not needed any more and still stored.", "stream")
	f.guards = desc("guards_in_use", "Fenced writes under way, of 64.")
	f.recovery = desc("recovery_seconds", "How long the recovery took that this term began with.")
	f.look = desc("scrape_loop_seconds", "How long the loop was held up to collect these gauges.")
	return f
}

func (f *families) describe(out chan<- *prometheus.Desc) {
	for _, d := range f.all {
		out <- d
	}
}

// emitter turns a view into gauges.
type emitter struct {
	out    chan<- prometheus.Metric
	fams   *families
	models *models
}

func (e emitter) gauge(d *prometheus.Desc, value float64, labels ...string) {
	e.out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
}

func (e emitter) policy(p wire.PolicyStatus) { e.gauge(e.fams.policyVersion, float64(p.Version)) }

func (e emitter) view(v *view) {
	f := e.fams
	for i := range v.status.Workers {
		e.worker(&v.status.Workers[i])
	}
	for _, c := range e.fold(v.status.Classes) {
		e.class(&c)
	}
	for name, r := range v.streams {
		e.gauge(f.messages, float64(r.Messages), name)
		e.gauge(f.bytes, float64(r.Bytes), name)
		if r.MaxBytes > 0 {
			e.gauge(f.limit, float64(r.MaxBytes), name)
		}
	}
	for name, n := range v.kept {
		e.gauge(f.kept, float64(n), name)
	}
	e.gauge(f.guards, float64(v.guards))
	e.gauge(f.recovery, v.recovery.Seconds())
	e.gauge(f.look, v.took.Seconds())
}

func (e emitter) worker(w *wire.WorkerStatus) {
	f := e.fams
	for _, m := range w.Models {
		e.models.serve(m)
	}
	e.gauge(f.slots, float64(w.Slots), w.Worker)
	e.gauge(f.used, float64(w.Used), w.Worker)
	e.gauge(f.prefill, float64(w.PrefillTokens), w.Worker)
	e.gauge(f.state, 1, w.Worker, w.State)
	e.gauge(f.seen, float64(w.LastSeenMS)/1000, w.Worker)
}

// fold gives each class its labels. Classes of models that nobody serves become
// one for each name, which says how much waits there and nothing about shares.
func (e emitter) fold(classes []wire.ClassStatus) []wire.ClassStatus {
	type key struct{ model, class string }
	place := map[key]int{}
	var list []wire.ClassStatus
	for _, c := range classes {
		c.Model, c.Class = e.models.label(c.Model), clean(c.Class)
		if c.Model == others {
			c.Deficit, c.SharedTokens, c.Share, c.Entitlement, c.Tenants, c.Jain = 0, 0, 0, 0, 0, 0
		}
		i, twice := place[key{c.Model, c.Class}]
		if !twice {
			place[key{c.Model, c.Class}] = len(list)
			list = append(list, c)
			continue
		}
		sum := &list[i]
		sum.Queued += c.Queued
		sum.QueuedRaw += c.QueuedRaw
		sum.QueuedCached += c.QueuedCached
		sum.QueuedTokens += c.QueuedTokens
		sum.Running += c.Running
		sum.Lanes += c.Lanes
		sum.OldestWaitMS = max(sum.OldestWaitMS, c.OldestWaitMS)
	}
	return list
}

func (e emitter) class(c *wire.ClassStatus) {
	f := e.fams
	set := func(d *prometheus.Desc, value float64) { e.gauge(d, value, c.Model, c.Class) }
	set(f.queued, float64(c.Queued))
	for kind, n := range map[string]int64{"raw": c.QueuedRaw, "cached": c.QueuedCached, "uncached": c.QueuedTokens} {
		e.gauge(f.queuedTokens, float64(n), c.Model, c.Class, kind)
	}
	set(f.oldest, float64(c.OldestWaitMS)/1000)
	set(f.running, float64(c.Running))
	set(f.lanes, float64(c.Lanes))
	if c.Model == others {
		return
	}
	set(f.deficit, float64(c.Deficit))
	set(f.shared, float64(c.SharedTokens))
	set(f.share, c.Share)
	set(f.entitlement, c.Entitlement)
	if c.Jain > 0 {
		set(f.tenants, float64(c.Tenants))
		set(f.jain, c.Jain)
	}
}
