package arbiter

import (
	"fmt"
	"slices"

	"fairlead/policy"
	"fairlead/wire"
)

// eligibleFor reports whether a worker may be given a request, busy or not.
func eligibleFor(w *worker, in *ring, r *request) bool { return !w.overloaded && suits(w, in, r) }

// suits reports whether a worker may serve a request at all, now or once its load
// has gone down: an overloaded worker keeps what waits for it waiting.
func suits(w *worker, in *ring, r *request) bool {
	if !w.takes() || in.model != "" && !w.serves(in.model) {
		return false
	}
	k := r.ask
	return k == nil || (k.allow == nil || slices.Contains(k.allow, w.name)) && subset(k.require, w.taints)
}

func subset(want, have []string) bool {
	for _, s := range want {
		if !slices.Contains(have, s) {
			return false
		}
	}
	return true
}

// impossible says why a pinned request can never run on its live worker, or "".
func (a *Arbiter) impossible(in *ring, r *request) string {
	k := r.ask
	w := k.pin
	switch {
	case in.model != "" && !w.serves(in.model):
		return fmt.Sprintf("%s: %q does not serve model %q", wire.HeaderPinWorker, w.name, in.model)
	case int(k.rank) >= len(w.ranks):
		return fmt.Sprintf("%s: %d, but worker %q has %d; want 0 to %d", wire.HeaderDPRank, k.rank, w.name, len(w.ranks), len(w.ranks)-1)
	case !subset(k.require, w.taints):
		return fmt.Sprintf("%s: worker %q, which the request is pinned to, does not have them all", wire.HeaderRequireTaints, w.name)
	}
	return ""
}

// freeRank is the least loaded rank of a worker that is not busy for a request,
// or -1.
func (a *Arbiter) freeRank(w *worker, r *request) int {
	if w.holdUntil > a.now {
		return -1
	}
	if r.ask != nil && r.ask.rank >= 0 {
		if rk := int(r.ask.rank); rk < len(w.ranks) && !w.busy(rk, r.cls.Class) {
			return rk
		}
		return -1
	}
	best := -1
	for i := range w.ranks {
		if w.busy(i, r.cls.Class) {
			continue
		}
		if best < 0 || w.ranks[i].prefill < w.ranks[best].prefill ||
			w.ranks[i].prefill == w.ranks[best].prefill && w.ranks[i].used < w.ranks[best].used {
			best = i
		}
	}
	return best
}

// busy reports whether a rank can take no more for a class: its slots are used,
// or its active prefill tokens are above a threshold (both strictly).
func (w *worker) busy(i int, c *policy.Class) bool {
	rk := &w.ranks[i]
	if rk.used >= w.slots {
		return true
	}
	if t := c.PrefillBusyThreshold; t != nil && rk.prefill > *t {
		return true
	}
	f := c.PrefillBusyFrac
	return f != nil && w.maxBatched > 0 && float64(rk.prefill) > *f*float64(w.maxBatched)
}

// find picks the worker and rank for a request that has just left its lane: its
// gate was open, so there is one.
func (a *Arbiter) find(r *request) (*worker, int) {
	in := r.ring()
	if r.ask != nil && r.ask.pin != nil {
		return r.ask.pin, a.freeRank(r.ask.pin, r)
	}
	p := picker{arbiter: a, ring: in, request: r}
	switch in.profile.Placement {
	case policy.RoundRobin:
		return p.roundRobin()
	case policy.Random:
		return p.sample(1)
	case policy.P2C:
		return p.sample(2)
	default:
		return p.leastWork()
	}
}

// meanSpeed stands in for the speed of workers that do not know theirs.
func (f *fleet) meanSpeed() float64 {
	sum, n := 0.0, 0
	for _, w := range f.live {
		if speed := w.speed(); speed > 0 {
			sum += speed
			n++
		}
	}
	if n == 0 {
		return 1
	}
	return sum / float64(n)
}

// picker places one request among the workers that can take it now.
type picker struct {
	arbiter   *Arbiter
	ring      *ring
	request   *request
	meanSpeed float64 // of the fleet; 0 until it is needed
	best      *worker
	rank      int
}

// can returns the rank of a worker that can take the request now, or -1.
func (p *picker) can(w *worker) int {
	if w.seat < 0 || !eligibleFor(w, p.ring, p.request) {
		return -1
	}
	return p.arbiter.freeRank(w, p.request)
}

// leastWork takes the worker that would be done first.
func (p *picker) leastWork() (*worker, int) {
	for _, w := range p.arbiter.fleet.roomy {
		p.consider(w)
	}
	return p.best, p.rank
}

func (p *picker) consider(w *worker) {
	rk := p.can(w)
	if rk < 0 || p.best != nil && !p.better(w) {
		return
	}
	p.best, p.rank = w, rk
}

// better compares the time a worker needs for its unfinished tokens and this
// request; then preferred taints, then the slots in use, then the name.
func (p *picker) better(w *worker) bool {
	x, y := p.finish(w), p.finish(p.best)
	if x != y {
		return x < y
	}
	if k := p.request.ask; k != nil && len(k.prefer) > 0 {
		if m, n := overlap(k.prefer, w.taints), overlap(k.prefer, p.best.taints); m != n {
			return m > n
		}
	}
	if m, n := w.used(), p.best.used(); m != n {
		return m < n
	}
	return w.name < p.best.name
}

func (p *picker) finish(w *worker) float64 {
	speed := w.speed()
	if speed <= 0 {
		if p.meanSpeed == 0 {
			p.meanSpeed = p.arbiter.fleet.meanSpeed()
		}
		speed = p.meanSpeed
	}
	return float64(w.work+p.request.Cost()) / (speed * float64(len(w.ranks)))
}

func (w *worker) used() int {
	n := 0
	for i := range w.ranks {
		n += w.ranks[i].used
	}
	return n
}

func overlap(want, have []string) int {
	n := 0
	for _, s := range want {
		if slices.Contains(have, s) {
			n++
		}
	}
	return n
}

// roundRobin takes the next worker that can.
func (p *picker) roundRobin() (*worker, int) {
	live := p.arbiter.fleet.live
	for i := range live {
		at := (p.ring.next + i) % len(live)
		if rk := p.can(live[at]); rk >= 0 {
			p.ring.next = at + 1
			return live[at], rk
		}
	}
	return nil, 0
}

// sample takes the best of n workers drawn among those that can.
func (p *picker) sample(n int) (*worker, int) {
	able := p.arbiter.able[:0]
	for _, w := range p.arbiter.fleet.roomy {
		if p.can(w) >= 0 {
			able = append(able, w)
		}
	}
	for range min(n, len(able)) {
		i := p.arbiter.rng.IntN(len(able))
		p.consider(able[i])
		able = slices.Delete(able, i, i+1)
	}
	clear(able)
	p.arbiter.able = able[:0]
	return p.best, p.rank
}
