package arbiter

import (
	"fmt"
	"math"

	"fairlead/drr"
	"fairlead/policy"
	"fairlead/wire"
)

// admit puts a new request into its class, unless a limit or the policy refuses
// it. Requests that a take-over finds are never refused for a limit.
func (a *Arbiter) admit(r *request, name string) {
	in, takeover := r.ring(), a.found != nil
	if in.model == "" && len(a.fleet.models) > 1 && !takeover {
		a.judge(r, wire.InvalidRequest, a.fleet.ambiguous())
		return
	}
	if !in.profile.Resolve(name, r.Uncached()).Known {
		a.emit(Notice{Kind: NoticeUnknownClass, Model: in.model, Class: r.cls.Name, ID: r.Seq, Detail: name})
		if in.profile.UnknownClass == policy.UnknownReject {
			a.judge(r, wire.InvalidRequest, "subject: class "+quote(name)+" is unknown; want one of "+in.names())
			return
		}
	}
	if due(r.Deadline, a.now) {
		a.judge(r, wire.DeadlineExceeded, "its time to live ended before it was queued")
		return
	}
	if why := r.cls.full(r.cls.waiting()); why != "" && !takeover && !a.makeRoom(r) {
		a.refuseFull(r, why)
		return
	}
	r.nowait = r.nowait || r.cls.zeroLimit() != ""
	if r.nowait && !takeover {
		a.nowaits = append(a.nowaits, r)
	}
	a.expiry.add(r)
	a.enqueue(r)
}

func quote(s string) string {
	return `"` + clip(s, 64) + `"`
}

// limitNames are the caps of a class as the policy file names them.
var limitNames = [...]string{
	"request_queue_limit_per_worker", "raw_isl_token_queue_limit_per_worker",
	"cached_token_queue_limit_per_worker", "uncached_token_queue_limit_per_worker",
}

// caps returns the limits of a class in the order of limitNames; nil is none.
func (c *class) caps() [len(limitNames)]*int64 {
	l := &c.Limits
	return [...]*int64{l.Requests, l.RawTokens, l.CachedTokens, l.UncachedTokens}
}

// full says which limit a class that has n waiting has reached, or "". It is checked before adding,
// so that the request that crosses a limit is still accepted. A limit of 0 is not
// checked here: see zeroLimit.
func (c *class) full(n drr.Counters) string {
	current := [...]int64{int64(n.Requests), n.Raw, n.Cached, n.Uncached}
	for i, limit := range c.caps() {
		if limit == nil || *limit == 0 {
			continue
		}
		if most := saturate(*limit, int64(max(1, c.ring.serving))); current[i] >= most {
			return fmt.Sprintf("is full: %s is %d, which allows %d now and %d are waiting", limitNames[i], *limit, most, current[i])
		}
	}
	return ""
}

// zeroLimit names a limit of 0, which means that nothing waits in the class; ""
// when there is none.
func (c *class) zeroLimit() string {
	for i, limit := range c.caps() {
		if limit != nil && *limit == 0 {
			return limitNames[i]
		}
	}
	return ""
}

// waiting counts what is queued or parked.
func (c *class) waiting() drr.Counters {
	n := c.ring.sched.Counters(c.index)
	n.Requests += c.parked.Requests
	n.Raw += c.parked.Raw
	n.Cached += c.parked.Cached
	n.Uncached += c.parked.Uncached
	return n
}

func saturate(a, b int64) int64 {
	if p := a * b; a == 0 || p/a == b {
		return p
	}
	return math.MaxInt64
}

// refuseFull ends a request that its class has no room for.
func (a *Arbiter) refuseFull(r *request, why string) {
	c := r.cls
	a.refuse(r, wire.Verdict{
		Reason: wire.QueueFull, RetryAfterMS: a.retryAfter(c).Milliseconds(),
		Detail: "class " + c.Name + " " + why,
	})
}

// refuseNowait ends a request that was not to wait and would have to.
func (a *Arbiter) refuseNowait(r *request) {
	if name := r.cls.zeroLimit(); name != "" {
		a.refuseFull(r, "does not queue: "+name+" is 0, and no worker has room now")
		return
	}
	a.refuseFull(r, "would queue it: "+wire.HeaderNoQueue+" is true, and no worker has room now")
}
