package sim

import (
	"errors"
	"fmt"
	"math"
	"time"

	"fairlead/broker/arbiter"
	"fairlead/wire"
)

// base is when every run begins, by the clock of the arbiter.
var base = time.Unix(1_700_000_000, 0)

// Sim is a run under way. It is not safe for concurrent use.
type Sim struct {
	cfg     Config
	arb     *arbiter.Arbiter
	now     int64 // nanoseconds since the start
	hop     int64
	fleet   []*worker
	byName  map[string]*worker
	next    int // request to arrive
	open    int // requests that have arrived and have no outcome
	lives   []life
	wire    wireline
	timers  timers
	tick    int64  // when the arbiter wants to be told the time; never is math.MaxInt64
	stored  uint64 // sequence of the last message in WORK
	reports uint64 // sequence of the last message in DONE
	meter   *meter
	last    int64 // when a request ended last, or arrived
	broken  error
}

// life is what is kept of each request.
type life struct {
	handed                int64  // first hand-out, nanoseconds; -1 before
	first                 int64  // first token; -1 before
	class                 *group // physical
	asked                 *group // by the name that it asked for
	tenant                *group
	ofTenant              *member
	charged               int64 // for the last hand-out
	shared                bool  // others of the ring waited then
	sharedByTenant        bool  // others of the class did
	waits, running, ended bool
}

const never = math.MaxInt64

// Run plays a configuration to its end.
func Run(cfg Config) (*Result, error) {
	s, err := New(cfg)
	if err != nil {
		return nil, err
	}
	for s.Advance(math.MaxInt) {
	}
	return s.Result()
}

// New prepares a run. The error names the field at fault.
func New(cfg Config) (*Sim, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	if err := cfg.Overload.Validate(); err != nil {
		return nil, err
	}
	s := &Sim{
		cfg: cfg, hop: int64(cfg.Hop), tick: never, byName: map[string]*worker{},
		lives: make([]life, len(cfg.Requests)), meter: newMeter(cfg.Policy),
		// One guard is the live broker's own, as there.
		arb: arbiter.New(arbiter.Config{
			Policy: cfg.Policy, Epoch: 1, Guards: wire.Guards - 1, Overload: cfg.Overload, Seed: cfg.Seed,
		}),
	}
	s.meter.only = only(cfg.Workers)
	s.step(arbiter.Recovered{})
	for i := range cfg.Workers {
		w, err := newWorker(s, i)
		if err != nil {
			return nil, err
		}
		s.fleet = append(s.fleet, w)
		s.byName[w.spec.Name] = w
	}
	return s, nil
}

// only is the model that all workers serve, "" when there are several: requests that
// name none then are refused, or have a ring of their own.
func only(workers []Worker) string {
	first := workers[0].Engine.Models[0]
	for i := range workers {
		if m := workers[i].Engine.Models; len(m) > 1 || m[0] != first {
			return ""
		}
	}
	return first
}

// Advance lets at most n things happen, and reports whether there are more.
func (s *Sim) Advance(n int) bool {
	for range n {
		if s.over() || !s.advance() {
			return false
		}
	}
	return true
}

func (s *Sim) over() bool {
	return s.broken != nil || s.open == 0 && s.next == len(s.cfg.Requests)
}

// Progress is the part of the requests that have an outcome, 0 to 1.
func (s *Sim) Progress() float64 {
	if len(s.cfg.Requests) == 0 {
		return 1
	}
	return float64(s.next-s.open) / float64(len(s.cfg.Requests))
}

// patience is for how long nothing may come and nothing end before the run is
// given up: some request can never be served.
const patience = int64(48 * time.Hour)

var errStuck = errors.New("no request ended for two days")

// advance does whatever comes next: what was sent first, then timers, the
// arbiter's own time, and arrivals.
func (s *Sim) advance() bool {
	at := min(s.wire.due(), s.timers.due(), s.tick, s.arrival())
	switch {
	case s.cfg.Until > 0 && at > int64(s.cfg.Until):
		s.now = int64(s.cfg.Until)
		s.broken = errUntil
		return false
	case at > max(s.last, s.arrivalOr(s.last))+patience:
		s.broken = fmt.Errorf("%w, and %d wait: %s", errStuck, s.open, "no worker can take them by the policy")
		return false
	}
	s.now = max(s.now, at)
	switch at {
	case s.wire.due():
		s.deliver(s.wire.pop())
	case s.timers.due():
		s.timers.pop().fire(s)
	case s.tick:
		s.step(arbiter.Tick{})
	default:
		s.arrive()
	}
	return true
}

// errUntil marks a run that its configuration ended.
var errUntil = errors.New("ended early")

func (s *Sim) arrival() int64 { return s.arrivalOr(never) }

func (s *Sim) arrivalOr(none int64) int64 {
	if s.next == len(s.cfg.Requests) {
		return none
	}
	return int64(s.cfg.Requests[s.next].At)
}

// arrive stores the next request in REQ: the arbiter hears of it after a hop.
func (s *Sim) arrive() {
	i := s.next
	s.next++
	s.open++
	s.last = s.now
	r := &s.cfg.Requests[i]
	s.lives[i] = life{handed: -1, first: -1}
	s.meter.arrived(s.now, r, &s.lives[i])
	s.observe(Happening{Kind: Asked, Request: i})
	s.post(arbiter.Arrived{ID: id(i), At: s.clock(), Request: r.wire()})
}

// wire is what the headers of a request say.
func (r *Request) wire() wire.Request {
	q := wire.Request{
		Class: r.Class, Worker: r.Worker, Model: r.Model, Tenant: r.Tenant, Priority: r.Priority, TTL: r.TTL,
		Input: r.Input, Cached: r.Cached, MaxOutput: r.MaxOutput, Strict: r.Strict, Rank: wire.AnyRank,
		Pin: pin(r.Soft), Retry: r.Retry, NoQueue: r.NoQueue,
	}
	if w := r.Where; w != nil {
		q.Allow, q.Require, q.Prefer, q.Rank = w.Allow, w.Require, w.Prefer, w.Rank
	}
	return q
}

func pin(soft bool) wire.Pin {
	if soft {
		return wire.PinPrefer
	}
	return wire.PinHard
}

// id is the sequence of a request in REQ.
func id(index int) uint64 { return uint64(index) + 1 }

func index(id uint64) int { return int(id - 1) }

// clock is the present time, as the arbiter is told.
func (s *Sim) clock() time.Time { return base.Add(time.Duration(s.now)) }

// post sends the arbiter an event; it arrives after a hop.
func (s *Sim) post(ev arbiter.Event) { s.wire.push(message{at: s.now + s.hop, event: ev}) }

// deliver hands a message to whom it is for.
func (s *Sim) deliver(m message) {
	if m.worker != nil {
		m.worker.receive(&m)
		return
	}
	if ev, ok := m.event.(arbiter.Arrived); ok {
		i := index(ev.ID)
		s.meter.queued(&s.cfg.Requests[i], &s.lives[i])
	}
	s.step(m.event)
}

// step tells the arbiter something and begins what it asks for.
func (s *Sim) step(ev arbiter.Event) {
	for _, act := range s.arb.Step(s.clock(), ev) {
		s.do(act)
	}
	s.tick = never
	if at, ok := s.arb.NextDeadline(); ok {
		s.tick = max(int64(at.Sub(base)), s.now)
	}
}

func (s *Sim) observe(h Happening) {
	if s.cfg.Observe != nil {
		h.At = time.Duration(s.now)
		s.cfg.Observe(h)
	}
}
