package sim

import (
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"fairlead/policy"
	"fairlead/wire"
)

// meter counts what happens to classes, to what was asked for, and to tenants.
type meter struct {
	policy  *policy.Policy
	only    string // the only model served, "" when there are several
	rings   map[string]*ringMeter
	order   []*ringMeter
	asked   map[string]*group
	traffic []*group
	tenants []*group
	lost    int // workers
	unknown int // requests that named a class nobody knows
	back    int // attempts that came to nothing
}

// ringMeter is what is counted of one model.
type ringMeter struct {
	profile *policy.Profile
	classes []*group // in ring order
	flow    flow
}

// group is a set of requests that are counted together.
type group struct {
	Group
	class   *policy.Class // of a physical class and its tenants
	ring    *ringMeter
	member  member
	flow    flow // of its tenants
	tenants map[string]*group
	beyond  map[string]*member // of a class: of its tenants that are not told apart, whose weights count nevertheless
	inside  []*member          // of the group of these: the same
}

// members are those whose shares make up that of the group.
func (g *group) members() []*member {
	if g.inside != nil {
		return g.inside
	}
	return []*member{&g.member}
}

// maxTenants bounds how many tenants of a class are told apart.
const maxTenants = 200

// Names of what is no tenant; no tenant can be called so.
const (
	NoTenant     = "(none)"   // requests that name none
	OtherTenants = "(others)" // tenants beyond those that are told apart
)

// longest is the longest time that a histogram holds; what takes longer counts as
// this long.
const longest = 100 * time.Hour

func newMeter(p *policy.Policy) *meter {
	return &meter{policy: p, rings: map[string]*ringMeter{}, asked: map[string]*group{}}
}

func newGroup(g Group, digits int) *group {
	h := func() *hdrhistogram.Histogram { return hdrhistogram.New(1, longest.Microseconds(), digits) }
	g.Wait, g.TTFT, g.Total = h(), h(), h()
	g.Reasons = map[wire.Reason]int{}
	return &group{Group: g}
}

func (m *meter) ring(model string) *ringMeter {
	if r := m.rings[model]; r != nil {
		return r
	}
	r := &ringMeter{profile: m.policy.Profile(model)}
	for i := range r.profile.Classes {
		c := &r.profile.Classes[i]
		g := newGroup(Group{Model: model, Class: c.Name}, 3)
		g.class, g.ring, g.member.weight = c, r, float64(c.Quantum)
		g.tenants, g.beyond = map[string]*group{}, map[string]*member{}
		r.classes = append(r.classes, g)
	}
	m.rings[model] = r
	m.order = append(m.order, r)
	return r
}

// arrived finds the groups of a request.
func (m *meter) arrived(now int64, r *Request, l *life) {
	model := r.Model
	if model == "" {
		model = m.only
	}
	ring := m.ring(model)
	l.class = ring.classes[ring.profile.Resolve(r.Class, int64(r.Input-r.Cached)).Class]
	if l.asked = m.asked[r.Class]; l.asked == nil {
		l.asked = newGroup(Group{Class: r.Class}, 3)
		m.asked[r.Class] = l.asked
		m.traffic = append(m.traffic, l.asked)
	}
	if r.Tenant != "" || l.class.class.Tenants {
		l.tenant, l.ofTenant = m.tenant(l.class, r.Tenant)
	}
	l.each(func(g *group) {
		if g.Asked++; g.Asked == 1 {
			g.First = time.Duration(now)
		}
	})
}

// queued begins the wait of a request that the broker has read, if it may wait.
func (m *meter) queued(r *Request, l *life) {
	if !r.NoQueue && !queuesNothing(&l.class.class.Limits) {
		l.wait()
	}
}

// queuesNothing reports whether a class takes only what can be dispatched at once:
// its requests never wait.
func queuesNothing(l *policy.Limits) bool {
	for _, limit := range []*int64{l.Requests, l.RawTokens, l.CachedTokens, l.UncachedTokens} {
		if limit != nil && *limit == 0 {
			return true
		}
	}
	return false
}

// tenant finds the group of a tenant of a class, and what it has in the flow of these.
func (m *meter) tenant(c *group, name string) (*group, *member) {
	shown := name
	switch known := c.tenants[name] != nil; {
	case name == "":
		shown = NoTenant
	case !known && len(c.tenants) >= maxTenants:
		shown = OtherTenants
	}
	t := c.tenants[shown]
	if t == nil {
		t = newGroup(Group{Model: c.Model, Class: c.Class, Tenant: shown}, 2)
		t.member.weight = c.class.TenantWeight(name)
		c.tenants[shown] = t
		m.tenants = append(m.tenants, t)
	}
	if shown != OtherTenants {
		return t, &t.member
	}
	if c.beyond[name] == nil {
		c.beyond[name] = &member{weight: c.class.TenantWeight(name)}
		t.inside = append(t.inside, c.beyond[name])
	}
	return t, c.beyond[name]
}

// each visits the groups of a request.
func (l *life) each(visit func(*group)) {
	visit(l.class)
	visit(l.asked)
	if l.tenant != nil {
		visit(l.tenant)
	}
}

func (l *life) wait() {
	l.waits = true
	l.class.ring.flow.join(&l.class.member)
	if l.tenant != nil {
		l.class.flow.join(l.ofTenant)
	}
}

func (l *life) leave() {
	if !l.waits {
		return
	}
	l.waits = false
	l.class.ring.flow.leave(&l.class.member)
	if l.tenant != nil {
		l.class.flow.leave(l.ofTenant)
	}
}

// serve gives the flows what the request is charged.
func (l *life) serve(tokens float64) {
	l.shared = l.class.ring.flow.serve(&l.class.member, tokens)
	l.sharedByTenant = l.tenant != nil && l.class.flow.serve(l.ofTenant, tokens)
}

// correct changes the charge of the last hand-out where it was counted.
func (l *life) correct(tokens float64) {
	if l.shared {
		l.class.ring.flow.correct(&l.class.member, tokens)
	}
	if l.sharedByTenant {
		l.class.flow.correct(l.ofTenant, tokens)
	}
}

// handedOut counts a hand-out, wait nanoseconds after the request was asked; it is
// charged its cost and perhaps an estimate of its output.
func (m *meter) handedOut(wait int64, l *life, cost, charged int64) {
	l.charged, l.shared, l.sharedByTenant = charged, false, false
	if l.waits {
		l.serve(float64(charged))
	}
	l.leave()
	l.running = true
	if l.handed >= 0 {
		return
	}
	l.each(func(g *group) { g.Tokens += cost; note(g.Wait, wait) })
}

// putBack counts a request that waits again, and takes back what it was given.
func (m *meter) putBack(l *life) {
	m.back++
	l.running = false
	l.wait()
	l.correct(-float64(l.charged))
	l.shared, l.sharedByTenant = false, false
}

// first notes the first token of a request.
func (m *meter) first(now int64, r *Request, l *life) {
	l.each(func(g *group) { note(g.TTFT, now-int64(r.At)) })
}

// completed counts a request that ended well.
func (m *meter) completed(now int64, r *Request, l *life, u wire.Usage) {
	l.leave()
	total := now - int64(r.At)
	l.each(func(g *group) {
		g.Completed++
		g.Output += u.Output
		note(g.Total, total)
		if r.TTL > 0 && total > int64(r.TTL) {
			g.Late++
		}
	})
}

// failed counts a request that ended with a reason, by the broker's decision or with
// an error of its worker.
func (m *meter) failed(l *life, reason wire.Reason) {
	l.leave()
	l.each(func(g *group) {
		g.Reasons[reason]++
		if reason == wire.DeadlineExceeded || reason == wire.Shed {
			g.Late++
		}
	})
}

func note(h *hdrhistogram.Histogram, ns int64) {
	// Within the bounds of the histogram, so that it cannot fail.
	_ = h.RecordValue(min(max(ns/1000, 1), longest.Microseconds()))
}
