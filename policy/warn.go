package policy

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

// Warning is something in a policy file that is legal and surely not meant. It
// reads like an Error.
type Warning Error

// String returns "file:line:column: field: problem; remedy".
func (w Warning) String() string { return Error(w).Error() }

// Warnings returns what is legal but surely wrong in the file that the policy was
// parsed from, in file order: what can never be reached or has no effect, and
// quanta that only make bursts. A policy without any may still be unwise.
func (p *Policy) Warnings() []Warning { return slices.Clone(p.warnings) }

// What a request can have at most.
const (
	maxPrompt    = 1 << 31 // tokens, by its headers
	maxModelName = 256     // bytes, by its header
	maxName      = 2048    // bytes of a class or family: a subject must fit one line of the NATS protocol
)

// warn notes a problem with a field of a class.
func (r row) warn(field, problem, remedy string) {
	n := r.fields[field]
	r.d.warnings = append(r.d.warnings, Warning{
		File: r.d.file, Line: n.at.Line, Column: n.at.Column, Field: n.path, Problem: problem, Remedy: remedy,
	})
}

// warn looks for what is surely wrong in the classes of a profile without errors.
func (m *matrix) warn(p *Profile) {
	for _, r := range m.rows {
		low, high := p.costs(r.class.Bucket)
		r.warnReach(low)
		r.warnThresholds()
		r.warnLimits(high)
		r.warnWeights()
		if len(m.rows) > 1 && r.class.Quantum > high && r.class.OutputWeight == 0 {
			r.warn("quantum", fmt.Sprintf("%d is more than any request of the class costs, at most %d uncached tokens: a larger one only makes longer bursts",
				r.class.Quantum, high), "give the quanta of all classes in smaller numbers of the same ratio")
		}
	}
}

// costs returns the fewest and the most uncached tokens that lead to a bucket; an
// explicit class takes any.
func (p *Profile) costs(bucket string) (low, high int64) {
	high = maxPrompt
	for i, b := range p.Buckets {
		if b.Name == bucket {
			low = b.MinTokens
			if i+1 < len(p.Buckets) {
				high = p.Buckets[i+1].MinTokens - 1
			}
		}
	}
	return low, min(high, maxPrompt)
}

// warnReach: no request can come to the class.
func (r row) warnReach(low int64) {
	if low > maxPrompt {
		r.warn("cache_bucket", fmt.Sprintf("begins at %d uncached tokens, and no request has more than %d: none comes to this class", low, maxPrompt),
			"lower the min_tokens of the bucket, or remove bucket and class")
	}
	for _, field := range []string{"policy_family", "name"} {
		text, named := r.class.Family, field == "policy_family"
		if r.class.Explicit() {
			text, named = r.class.Name, field == "name"
		}
		if named && len(text) > maxName {
			r.warn(field, fmt.Sprintf("has %d bytes: no subject req.<class> can name it", len(text)), fmt.Sprintf("give a name of at most %d bytes", maxName))
		}
	}
}

// warnThresholds: a threshold that no load exceeds, or one that changes nothing.
func (r row) warnThresholds() {
	c := r.class
	if t := c.PrefillBusyThreshold; t != nil && *t > maxPrompt {
		r.warn("prefill_busy_threshold", fmt.Sprintf("%d is more than the largest prompt has, %d: no worker will be busy by it", *t, maxPrompt),
			"give what an engine prefills in a second or two, or remove it")
	}
	const mostSteps = 10_000
	if f := c.PrefillBusyFrac; f != nil && *f > mostSteps {
		r.warn("prefill_busy_threshold_frac", fmt.Sprintf("%g prefill steps are hours of work: no worker will be busy by it", *f),
			"give a number of steps such as 1 or 16, or remove it")
	}
	if q := c.BusyWorkerRatio; q != nil && *q == 1 {
		r.warn("busy_worker_ratio", "1 has no effect: requests wait while all workers are busy in any case", "give less than 1, or remove it")
	}
}

// warnWeights: turns of tenants are whole tokens, at least one, so that small ones
// are not what the weights say.
func (r row) warnWeights() {
	const most = 0.05 // of a turn
	c, worst, off := r.class, "", most
	for _, tenant := range slices.Sorted(maps.Keys(c.TenantWeights)) {
		turn := c.TenantWeights[tenant] * float64(c.Quantum)
		if d := math.Abs(max(1, math.Round(turn))-turn) / turn; d > off {
			worst, off = tenant, d
		}
	}
	if worst != "" {
		r.warn("tenant_weights", fmt.Sprintf("the weight of %q, %g, makes turns of %.3g tokens, and they are whole numbers, at least 1: its share will be another",
			worst, c.TenantWeights[worst], c.TenantWeights[worst]*float64(c.Quantum)), "give larger weights in the same ratio, or a larger quantum")
	}
}

// A queueCap is a limit with the field that sets it.
type queueCap struct {
	field string
	limit *int64
}

func (l *Limits) caps() []queueCap {
	all := []queueCap{
		{"request_queue_limit_per_worker", l.Requests}, {"raw_isl_token_queue_limit_per_worker", l.RawTokens},
		{"cached_token_queue_limit_per_worker", l.CachedTokens}, {"uncached_token_queue_limit_per_worker", l.UncachedTokens},
	}
	return slices.DeleteFunc(all, func(c queueCap) bool { return c.limit == nil })
}

// warnLimits: a limit that another one is always reached before.
func (r row) warnLimits(high int64) {
	l, caps := &r.class.Limits, r.class.Limits.caps()
	zero := slices.IndexFunc(caps, func(c queueCap) bool { return *c.limit == 0 })
	if zero >= 0 {
		r.warnZero(caps, caps[zero].field)
		return
	}
	if r.class.Displace && len(caps) == 0 {
		r.warn("displace", "has no effect: the class has no limit, so it is never full", "give a queue limit, or remove it")
	}
	for _, c := range caps[min(1, len(caps)):] {
		if raw := l.RawTokens; raw != nil && c.limit != raw && c.limit != l.Requests && *c.limit >= *raw {
			r.warn(c.field, fmt.Sprintf("%d is never reached: all tokens together may be %d", *c.limit, *raw),
				"give less than raw_isl_token_queue_limit_per_worker, or remove it")
		}
	}
	if n, u := l.Requests, l.UncachedTokens; n != nil && u != nil && float64(*u) > float64(*n)*float64(high) {
		r.warn("uncached_token_queue_limit_per_worker", fmt.Sprintf("%d is never reached: %d requests of at most %d uncached tokens may wait", *u, *n, high),
			"lower it, raise request_queue_limit_per_worker, or remove it")
	}
}

// warnZero: what stands beside a limit of 0, which lets nothing wait.
func (r row) warnZero(caps []queueCap, zero string) {
	for _, c := range caps {
		if *c.limit > 0 {
			r.warn(c.field, fmt.Sprintf("%d is never reached: %s is 0, so nothing waits", *c.limit, zero), "remove it, or raise the limit of 0")
		}
	}
	if r.class.Displace {
		r.warn("displace", "has no effect: "+zero+" is 0, so nothing waits that could make room", "raise the limit, or remove it")
	}
	if r.class.BusyWorkerRatio != nil {
		r.warn("busy_worker_ratio", "refuses requests while workers are free: "+zero+" is 0, so nothing waits for the others", "raise the limit, or remove it")
	}
}

// warnModel: a name that no request can carry.
func (d *decoder) warnModel(e entry) {
	if len(e.key) <= maxModelName && strings.TrimSpace(e.key) == e.key {
		return
	}
	d.warnings = append(d.warnings, Warning{
		File: d.file, Line: e.keyAt.Line, Column: e.keyAt.Column, Field: e.path,
		Problem: "no request can name this model", Remedy: fmt.Sprintf("give at most %d bytes, without blanks around them", maxModelName),
	})
}
