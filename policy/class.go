package policy

import (
	"fmt"
	"math"
)

// class reads one class. Where it stands in the matrix is checked later.
func class(o object) Class {
	o.require("", "name", "quantum")
	c := newClass()
	c.Name, _ = o.name("name")
	c.Family, _ = o.name("policy_family")
	c.Bucket, _ = o.name("cache_bucket")
	if q := o.whole("quantum", 1, maxTokens); q != nil {
		c.Quantum = *q
	}
	c.Limits = Limits{
		Requests:       o.whole("request_queue_limit_per_worker", 0, maxTokens),
		RawTokens:      o.whole("raw_isl_token_queue_limit_per_worker", 0, maxTokens),
		CachedTokens:   o.whole("cached_token_queue_limit_per_worker", 0, maxTokens),
		UncachedTokens: o.whole("uncached_token_queue_limit_per_worker", 0, maxTokens),
	}
	c.NoWorkerGrace = o.duration("no_worker_grace", DefaultNoWorkerGrace)
	c.PinGrace = o.duration("pin_grace", DefaultPinGrace)
	c.Displace, _ = o.flag("displace")
	busy(o, &c)
	order(o, &c)
	tenants(o, &c)
	output(o, &c)
	return c
}

func busy(o object, c *Class) {
	c.PrefillBusyThreshold = o.whole("prefill_busy_threshold", 0, maxTokens)
	c.PrefillBusyFrac = o.number("prefill_busy_threshold_frac", span{hi: math.MaxFloat64})
	c.BusyWorkerRatio = o.number("busy_worker_ratio", span{hi: 1, open: true})
	if o.has("busy_worker_ratio") && !o.has("prefill_busy_threshold") && !o.has("prefill_busy_threshold_frac") {
		o.d.report(o.fields["busy_worker_ratio"], "counts busy workers, but nothing says when a worker is busy",
			"give prefill_busy_threshold or prefill_busy_threshold_frac too, or remove the ratio")
	}
}

func order(o object, c *Class) {
	order, known := o.choice("queue_policy", orderNames[:])
	c.Order = Order(order)
	if k := o.number("aging", span{hi: maxWeight, open: true}); k != nil {
		c.Aging = *k
	}
	if r := o.number("nominal_tokens_per_second", span{lo: 1, hi: maxRate}); r != nil {
		c.NominalTokensPerSecond = *r
	}
	c.Shed, _ = o.flag("shed")
	if c.Shed && known && c.Order != EDF {
		o.d.report(o.fields["shed"], fmt.Sprintf("has no meaning with queue_policy %s", c.Order), "set queue_policy: edf, or remove shed")
	}
	switch aged, rated := o.has("aging"), o.has("nominal_tokens_per_second"); {
	case aged && known && c.Order != WSPT:
		o.d.report(o.fields["aging"], fmt.Sprintf("has no meaning with queue_policy %s", c.Order), "set queue_policy: wspt, or remove aging")
	case aged && !rated:
		o.d.report(o.fields["aging"], "needs nominal_tokens_per_second", classSchema.remedyFor("nominal_tokens_per_second"))
	case rated && !aged:
		o.d.report(o.fields["nominal_tokens_per_second"], "has no effect without aging", "give aging too, or remove it")
	}
}

func output(o object, c *Class) {
	if w := o.number("output_weight", span{hi: maxWeight}); w != nil {
		c.OutputWeight = *w
	}
	c.EstimateOutput, _ = o.flag("estimate_output")
	if c.EstimateOutput && !o.has("output_weight") {
		o.d.report(o.fields["estimate_output"], "has no effect without output_weight", classSchema.remedyFor("output_weight"))
	}
}

func tenants(o object, c *Class) {
	on, known := o.flag("tenants")
	c.Tenants = on
	all, ok := o.d.entries(o.fields["tenant_weights"], classSchema.remedyFor("tenant_weights"))
	if !ok {
		return
	}
	weight := field{"weight", "give a number from 0.001 to 1000000"}
	c.TenantWeights = make(map[string]float64, len(all))
	for _, e := range all {
		if !validName(e.key) || len(e.key) > 64 {
			o.d.report(node{path: e.path, at: e.keyAt}, quote(e.key)+" is not a tenant name", "give at most 64 letters, digits, _ and -")
		}
		one := object{d: o.d, schema: &schema{fields: []field{weight}}, fields: map[string]node{"weight": e.node}}
		if e.value == nil {
			continue
		}
		if w := one.number("weight", span{lo: minWeight, hi: maxWeight}); w != nil {
			c.TenantWeights[e.key] = *w
		}
	}
	if known && !on {
		o.d.report(o.fields["tenant_weights"], "has no effect without tenants", "set tenants: true, or remove it")
	}
}
