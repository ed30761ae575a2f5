package arbiter

import (
	"cmp"
	"slices"
	"strings"

	"fairlead/drr"
	"fairlead/policy"
	"fairlead/wire"
)

// ring is the queue of one model: its profile's classes under exact DRR.
type ring struct {
	model   string
	profile *policy.Profile
	sched   *drr.Scheduler
	classes []*class
	gate    drr.Gate
	members int                 // requests in the system that belong to it
	picky   map[uint64]*request // waiting requests that not every worker may serve
	parked  map[uint64]*request // those of them that no worker can serve now
	dirty   bool                // something may have become dispatchable
	swept   int64               // when waiting was last looked through
	sweepAt int64               // when waiting without a worker next ends for someone; 0 never
	hint    int                 // where the search for a worker with room starts, in fleet.roomy
	next    int                 // round-robin placement
	fastest float64             // speed of the fastest worker that takes work, tokens a second; 0 unknown to all, unknownSpeed to be found
	serving int                 // live workers that serve the model: limits scale with it
	alone   int64               // since when no worker has taken work for the model; 0 when some do
}

// class is what the arbiter counts about a class of a ring.
type class struct {
	*policy.Class
	ring       *ring
	index      int // in the ring
	running    int
	parked     drr.Counters // of its requests that no worker can serve now
	dispatched uint64
	completed  uint64
	failed     uint64
	tokens     int64 // dispatched
	shared     int64 // charged, while every class of the ring was backlogged
	largest    int64 // charge for a request
	output     mean  // tokens of a request, as engines report them
	drain      drain
	yielding   yielding             // with displace
	tenants    map[uint32]*appetite // of those that have something waiting; nil without tenants
}

// ring returns the ring of a model; it makes one for a new model.
func (a *Arbiter) ring(model string) *ring {
	if r, ok := a.rings[model]; ok {
		return r
	}
	r := &ring{model: model, picky: map[uint64]*request{}, parked: map[uint64]*request{}}
	r.adopt(a.cfg.Policy.Profile(model), a.tenants)
	r.gate = func(_ int, t drr.Target, head *drr.Entry) drr.Answer { return a.gate(r, t, a.requests[head.Seq]) }
	a.rings[model] = r
	a.order = append(a.order, r)
	a.countServing(r)
	return r
}

// adopt makes the classes of a profile, all empty.
func (in *ring) adopt(profile *policy.Profile, names *tenants) {
	in.profile = profile
	classes := make([]drr.Class, len(profile.Classes))
	in.classes = make([]*class, len(profile.Classes))
	for i := range profile.Classes {
		c := &profile.Classes[i]
		classes[i] = drr.Class{Name: c.Name, Quantum: c.Quantum, Order: orders[c.Order], Aging: c.Aging, Rate: c.NominalTokensPerSecond}
		in.classes[i] = &class{Class: c, ring: in, index: i, drain: drain{window: drainWindow}}
		if c.Tenants {
			classes[i].Tenants = true
			classes[i].Weight = func(n uint32) float64 { return c.TenantWeight(names.name(n)) }
			in.classes[i].tenants = map[uint32]*appetite{}
		}
	}
	sched, err := drr.New(classes)
	if err != nil {
		panic("arbiter: a validated policy was refused: " + err.Error())
	}
	in.sched = sched
}

// resolve finds the class of a request.
func (in *ring) resolve(name string, uncached int64) *class {
	return in.classes[in.profile.Resolve(name, uncached).Class]
}

var orders = [...]drr.Order{policy.FCFS: drr.FCFS, policy.WSPT: drr.WSPT, policy.EDF: drr.EDF}

// names lists what a request may name, for an answer to one that names something else.
func (in *ring) names() string {
	var list []string
	seen := map[string]bool{}
	for i := range in.profile.Classes {
		c := &in.profile.Classes[i]
		name := c.Family
		if c.Explicit() {
			name = c.Name
		}
		if !seen[name] {
			seen[name] = true
			list = append(list, name)
		}
	}
	return strings.Join(list, ", ")
}

// recheck lets what may wait for a worker be tried again.
func (a *Arbiter) recheck(w *worker) {
	for _, r := range a.order {
		if r.model == "" || w.serves(r.model) { // also an empty ring: it may remember that all were busy
			r.sched.Recheck(w.index)
			r.hint = max(0, w.seat)
			r.dirty = true
		}
	}
}

// countServing refreshes what a ring knows of its workers.
func (a *Arbiter) countServing(r *ring) {
	r.serving, r.fastest = 0, unknownSpeed
	taking := 0
	for _, w := range a.fleet.live {
		if r.model == "" || w.serves(r.model) {
			r.serving++
			if w.takes() {
				taking++
			}
		}
	}
	switch {
	case taking > 0:
		r.alone = 0
	case r.alone == 0:
		r.alone = max(a.now, a.started)
	}
}

// fleetChanged is called after workers came, went, or changed what they serve.
func (a *Arbiter) fleetChanged() {
	for _, r := range a.order {
		a.countServing(r)
		a.review(r)
		r.sched.RecheckAll()
		r.dirty = true
		if r.alone != 0 || len(r.parked) > 0 || a.fleet.pins > 0 {
			r.sweepAt = earlier(r.sweepAt, max(a.now, r.swept+sweepPause)) // the reasons to wait may be others now
		}
	}
	if a.found == nil {
		a.settleUnnamed()
	}
	for _, r := range slices.Clone(a.order) {
		a.tidyRing(r)
	}
}

// tidyRing drops the ring of a model that nobody serves or asks for any more.
func (a *Arbiter) tidyRing(in *ring) {
	if in.members > 0 || in.alone == 0 || in.model == "" {
		return
	}
	delete(a.rings, in.model)
	a.order = slices.DeleteFunc(a.order, func(r *ring) bool { return r == in })
}

// settleUnnamed moves requests that named no model, and came before a worker
// was heard, to the ring of the only model served, or refuses them.
func (a *Arbiter) settleUnnamed() {
	unnamed, ok := a.rings[""]
	if !ok || len(a.fleet.models) == 0 {
		return
	}
	for _, r := range a.waiting(unnamed, everyone) {
		if len(a.fleet.models) > 1 {
			a.judge(r, wire.InvalidRequest, a.fleet.ambiguous())
			continue
		}
		a.leaveLane(r)
		a.move(r, a.ring(a.fleet.models[0].Name))
	}
	a.restore()
	a.saved = nil
}

// move puts a request that waits nowhere into another ring.
func (a *Arbiter) move(r *request, to *ring) {
	a.join(r, to)
	a.enqueue(r)
}

// join makes a request belong to another ring: to the class of the same name,
// else to the one that its family or name leads to there.
func (a *Arbiter) join(r *request, to *ring) {
	from := r.ring()
	r.cls = to.like(r.cls.Class, r.Uncached())
	to.members++
	a.leaveRing(from)
}

// named returns the class of a name, nil when there is none.
func (in *ring) named(name string) *class {
	for _, c := range in.classes {
		if c.Name == name {
			return c
		}
	}
	return nil
}

// like finds the class that takes the place of another profile's.
func (in *ring) like(from *policy.Class, uncached int64) *class {
	if c := in.named(from.Name); c != nil {
		return c
	}
	if from.Explicit() {
		return in.resolve(from.Name, uncached)
	}
	return in.resolve(from.Family, uncached)
}

// waiting lists the queued and parked requests of a ring that a filter lets
// through, by id. It is for rare occasions: it visits all of them.
func (a *Arbiter) waiting(in *ring, filter func(*request) bool) []*request {
	var list []*request
	add := func(r *request) {
		if filter(r) {
			list = append(list, r)
		}
	}
	for _, r := range in.parked {
		add(r)
	}
	for i := range in.classes {
		in.sched.Each(i, func(e *drr.Entry) bool {
			add(a.requests[e.Seq])
			return true
		})
	}
	slices.SortFunc(list, func(x, y *request) int { return cmp.Compare(x.Seq, y.Seq) })
	return list
}

// everyone is a filter for waiting.
func everyone(*request) bool { return true }
