package arbiter

import (
	"cmp"
	"container/heap"
	"fmt"
	"slices"

	"fairlead/drr"
	"fairlead/wire"
)

// yielding is what waits in a class that displaces, the first to make room first:
// the newest request of the lowest tier. Entries of requests that do not wait any
// more are passed over when they come first, or dropped when they are most of all.
type yielding []seat

type seat struct {
	strict uint32
	id     uint64
}

func (s seat) compare(o seat) int {
	return cmp.Or(cmp.Compare(s.strict, o.strict), cmp.Compare(o.id, s.id))
}

func (y yielding) Len() int           { return len(y) }
func (y yielding) Less(i, j int) bool { return y[i].compare(y[j]) < 0 }
func (y yielding) Swap(i, j int)      { y[i], y[j] = y[j], y[i] }
func (y *yielding) Push(x any)        { *y = append(*y, x.(seat)) }
func (y *yielding) Pop() any {
	old := *y
	last := old[len(old)-1]
	*y = old[:len(old)-1]
	return last
}

// mayYield notes that a request has begun to wait. It costs O(log n) amortised.
func (a *Arbiter) mayYield(r *request) {
	c := r.cls
	if !c.Displace {
		return
	}
	heap.Push(&c.yielding, seat{r.Strict, r.Seq})
	if len(c.yielding) > 2*c.waiting().Requests+slack {
		kept := slices.DeleteFunc(c.yielding, func(s seat) bool { return !a.waitsIn(s.id, c) })
		slices.SortFunc(kept, seat.compare) // which is a heap
		c.yielding = slices.Compact(kept)
	}
}

func (a *Arbiter) waitsIn(id uint64, c *class) bool {
	r := a.requests[id]
	return r != nil && r.cls == c && r.waits()
}

// mostDisplaced bounds how many requests make room for one. A cap of requests
// takes one; a cap of tokens takes more when the newest requests are small.
const mostDisplaced = 8

// makeRoom displaces what waits in tiers below a new request until its class is
// not full any more; false, and nothing has changed, if that does not do.
func (a *Arbiter) makeRoom(r *request) bool {
	yield := a.roomFor(r)
	for _, v := range yield {
		a.displace(v, r)
	}
	return yield != nil
}

// roomFor takes out who is to make room for a new request of a class that is
// full; nil, and nothing has changed, when nobody is.
func (a *Arbiter) roomFor(r *request) []*request {
	c := r.cls
	if !c.Displace || r.nowait {
		return nil
	}
	n := c.waiting()
	var yield []*request
	for len(yield) < mostDisplaced && c.full(n) != "" {
		v := a.yields(c, r.Strict)
		if v == nil {
			break
		}
		yield = append(yield, v)
		n = less(n, v)
	}
	if c.full(n) == "" {
		return yield
	}
	for _, v := range yield {
		a.mayYield(v)
	}
	return nil
}

// yields takes out the next request to make room for one of a tier, nil when
// none of a lower tier waits.
func (a *Arbiter) yields(c *class, tier uint32) *request {
	for len(c.yielding) > 0 && c.yielding[0].strict < tier {
		s := heap.Pop(&c.yielding).(seat)
		for len(c.yielding) > 0 && c.yielding[0] == s { // it waited, ran and waits again
			heap.Pop(&c.yielding)
		}
		if a.waitsIn(s.id, c) {
			return a.requests[s.id]
		}
	}
	return nil
}

func less(n drr.Counters, r *request) drr.Counters {
	n.Requests--
	n.Raw -= int64(r.Raw)
	n.Cached -= int64(r.Cached)
	n.Uncached -= r.Uncached()
	return n
}

func (a *Arbiter) displace(r, by *request) {
	c := r.cls
	a.refuse(r, wire.Verdict{
		Reason: wire.Displaced, RetryAfterMS: a.retryAfter(c).Milliseconds(),
		Detail: fmt.Sprintf("class %s is full, and this request of tier %d made room for one of tier %d", c.Name, r.Strict, by.Strict),
	})
}
