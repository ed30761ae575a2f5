package sim

import (
	"errors"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"fairlead/wire"
)

// Result is what came of a run.
type Result struct {
	Requests, Completed int
	Open                int // without an outcome, because Config.Until ended the run
	PutBack             int // attempts that came to nothing: given back, or lost with their worker
	WorkersLost         int
	Unknown             int           // requests that named a class which the policy does not know
	Span                time.Duration // from the start to the last outcome
	Classes             []Group       // physical classes, in ring order, model by model
	Traffic             []Group       // by the name that was asked for, in order of arrival
	Tenants             []Group       // of the requests that name one, or whose class has tenants
	Workers             []Use
	// Broker is the arbiter's own account of the classes, as a live broker gives it.
	Broker []wire.ClassStatus
}

// Group is what came of requests that belong together. Histograms are in microseconds.
type Group struct {
	Model, Class, Tenant string
	First                time.Duration // arrival
	Asked, Completed     int
	Reasons              map[wire.Reason]int // how the others ended
	Late                 int                 // that had a deadline and missed it, ended or not
	Tokens               int64               // uncached, handed out; each request once
	Output               int64               // tokens
	// Share is the part of what was charged while it and others of its kind had
	// something waiting, as it turned out; Due the part that the weights entitled it to then. Both are
	// 0 when hardly anybody ever shared, fewer than 20 requests. Not of Traffic.
	Share, Due float64
	Wait       *hdrhistogram.Histogram // from being asked to the first hand-out
	TTFT       *hdrhistogram.Histogram // to the first token
	Total      *hdrhistogram.Histogram // to the end, of those that completed
}

// Refused counts the requests that did not complete.
func (g *Group) Refused() int {
	n := 0
	for _, k := range g.Reasons {
		n += k
	}
	return n
}

// Use is how a worker spent its time.
type Use struct {
	Name      string
	Up        time.Duration // that it lived
	Slots     float64       // mean part of its slots in use while it lived, 0 to 1
	Engine    float64       // part of that time in which its engine computed, mean of its ranks, 0 to 1
	Prefilled int64         // uncached prompt tokens
	Output    int64         // tokens
}

// Result is what came of the run by now. The error says why a run broke off.
func (s *Sim) Result() (*Result, error) {
	if s.broken != nil && !errors.Is(s.broken, errUntil) {
		return nil, s.broken
	}
	end := s.last
	if s.broken != nil {
		end = s.now
	}
	r := &Result{
		Requests: len(s.cfg.Requests), PutBack: s.meter.back, WorkersLost: s.meter.lost, Unknown: s.meter.unknown, Span: time.Duration(end),
		Open: s.open + len(s.cfg.Requests) - s.next, Broker: s.arb.Status(s.clock()).Classes,
	}
	for _, ring := range s.meter.order {
		r.Classes = append(r.Classes, shares(&ring.flow, ring.classes)...)
		for _, c := range ring.classes {
			r.Tenants = append(r.Tenants, shares(&c.flow, s.meter.tenantsOf(c))...)
		}
	}
	for _, g := range s.meter.traffic {
		r.Traffic = append(r.Traffic, g.Group)
		r.Completed += g.Completed
	}
	for _, w := range s.fleet {
		r.Workers = append(r.Workers, w.used(end))
	}
	return r, nil
}

// tenantsOf lists the tenants of a class in order of arrival.
func (m *meter) tenantsOf(c *group) []*group {
	var list []*group
	for _, t := range m.tenants {
		if c.tenants[t.Tenant] == t {
			list = append(list, t)
		}
	}
	return list
}

// minServes is how many requests must have been served while others waited before a
// share says anything.
const minServes = 20

// shares fills in what the members of a flow had and were due.
func shares(f *flow, members []*group) []Group {
	served, due := 0.0, 0.0
	for _, g := range members {
		s, d := f.sums(g)
		served, due = served+s, due+d
	}
	list := make([]Group, len(members))
	for i, g := range members {
		list[i] = g.Group
		if f.serves >= minServes && served > 0 && due > 0 {
			s, d := f.sums(g)
			list[i].Share, list[i].Due = s/served, d/due
		}
	}
	return list
}

// sums is what a group was given, and what it was entitled to.
func (f *flow) sums(g *group) (served, due float64) {
	for _, m := range g.members() {
		served += m.served
		due += f.entitled(m)
	}
	return served, due
}

// use counts what a worker does.
type use struct {
	since             int64 // when its load changed last
	busy              int64 // slots × nanoseconds
	born              int64 // when it came up; -1 while it is down
	lived             int64
	prefilled, output int64
}

// load notes that the number of slots in use is about to change.
func (u *use) load(now int64, running int) {
	u.busy += int64(running) * (now - u.since)
	u.since = now
}

func (u *use) up(now int64) { u.since, u.born = now, now }

func (u *use) down(now int64, running int) {
	u.load(now, running)
	u.lived += now - u.born
	u.born = -1
}

// used sums up by a time.
func (w *worker) used(end int64) Use {
	u := w.use
	if w.up {
		u.down(max(end, u.since), w.running)
	}
	out := Use{Name: w.spec.Name, Up: time.Duration(u.lived), Prefilled: u.prefilled, Output: u.output}
	if u.lived == 0 {
		return out
	}
	out.Slots = float64(u.busy) / float64(u.lived) / float64(w.slots())
	for _, e := range w.engines {
		out.Engine += float64(e.spent(end)) / float64(u.lived) / float64(len(w.engines))
	}
	return out
}
