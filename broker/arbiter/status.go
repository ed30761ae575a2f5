package arbiter

import (
	"slices"
	"strings"
	"time"

	"fairlead/drr"
	"fairlead/wire"
)

// Status describes every class and worker. It visits every queued request: ask
// for it now and then, not in a loop.
func (a *Arbiter) Status(now time.Time) wire.BrokerStatus {
	at := max(a.now, now.UnixNano())
	s := wire.BrokerStatus{Epoch: a.cfg.Epoch, Recovered: a.Recovered()}
	for _, in := range a.order {
		s.Classes = append(s.Classes, a.classes(in, at)...)
	}
	for _, w := range a.fleet.byName {
		if w.incarnation != 0 {
			s.Workers = append(s.Workers, a.worker(w, at))
		}
	}
	slices.SortFunc(s.Workers, func(x, y wire.WorkerStatus) int { return strings.Compare(x.Worker, y.Worker) })
	return s
}

func (a *Arbiter) classes(in *ring, at int64) []wire.ClassStatus {
	list := make([]wire.ClassStatus, len(in.classes))
	quanta, shared := int64(0), int64(0)
	for _, c := range in.classes {
		quanta += c.Quantum
		shared += c.shared
	}
	for i, c := range in.classes {
		n := c.waiting()
		list[i] = wire.ClassStatus{
			Model: in.model, Class: c.Name, Quantum: c.Quantum, Deficit: in.sched.Deficit(i),
			Queued: n.Requests, QueuedRaw: n.Raw, QueuedCached: n.Cached, QueuedTokens: n.Uncached,
			Running: c.running, Dispatched: c.dispatched, DispatchedTokens: c.tokens,
			Completed: c.completed, Failed: c.failed, SharedTokens: c.shared,
			Entitlement: float64(c.Quantum) / float64(quanta),
		}
		if c.Tenants {
			list[i].Tenants, list[i].Jain = len(c.tenants), c.jain(a.tenants, at)
		}
		if shared > 0 {
			list[i].Share = float64(c.shared) / float64(shared)
		}
		a.lanes(in, i, at, &list[i])
	}
	return list
}

// lanes fills in what only a visit of every request tells.
func (a *Arbiter) lanes(in *ring, i int, at int64, s *wire.ClassStatus) {
	exact := map[drr.Target]bool{}
	oldest := at
	in.sched.Each(i, func(e *drr.Entry) bool {
		oldest = min(oldest, e.Arrival)
		if t := e.Target(); t != drr.Shared {
			exact[t] = true
		}
		return true
	})
	for _, r := range in.parked {
		if r.cls.index == i {
			oldest = min(oldest, r.Arrival)
		}
	}
	s.Lanes = len(exact)
	s.OldestWaitMS = (at - oldest) / int64(time.Millisecond)
}

func (a *Arbiter) worker(w *worker, at int64) wire.WorkerStatus {
	s := wire.WorkerStatus{
		Worker: w.name, Incarnation: w.incarnation, State: a.workerState(w), Models: w.models,
		Ranks: len(w.ranks), Slots: w.slots * len(w.ranks), Used: w.used(), LastSeenMS: max(0, at-w.seen) / int64(time.Millisecond),
	}
	for i := range w.ranks {
		s.PrefillTokens += w.ranks[i].prefill
	}
	return s
}

func (a *Arbiter) workerState(w *worker) string {
	switch {
	case w.lost != 0:
		return "lost"
	case !w.live:
		return "unheard"
	case w.draining:
		return "draining"
	case !w.healthy:
		return "unhealthy"
	case w.overloaded:
		return "overloaded"
	case w.holdUntil > a.now:
		return "held"
	case w.used() >= w.slots*len(w.ranks):
		return "busy"
	}
	return "ready"
}

// Requests says where requests are.
func (a *Arbiter) Requests(now time.Time, ids []uint64) []wire.RequestStatus {
	list := make([]wire.RequestStatus, len(ids))
	for i, id := range ids {
		list[i] = wire.RequestStatus{ID: id, State: wire.StateEnded}
		r := a.requests[id]
		if r == nil {
			if id > a.highest || a.found != nil {
				list[i].State = wire.StateQueued // it may be stored and not have been read
			}
			continue
		}
		s := &list[i]
		s.Class, s.Model, s.Attempt = r.cls.Name, r.ring().model, r.attempt
		s.WaitMS = r.wait(now.UnixNano()).Milliseconds()
		s.State = states[r.state]
		if r.booking != nil {
			s.Worker = r.booking.worker.name
		}
	}
	return list
}

var states = [...]wire.RequestState{
	queued: wire.StateQueued, parked: wire.StateQueued, placing: wire.StateRunning, running: wire.StateRunning,
	over: wire.StateEnded, judged: wire.StateEnding, sentenced: wire.StateEnding, ending: wire.StateEnding,
	gone: wire.StateEnded,
}

// Seen reports whether everything up to an id has been read from REQ.
func (a *Arbiter) Seen(id uint64) bool { return a.found == nil && id <= a.highest }

// Models lists what live workers serve, sorted by name.
func (a *Arbiter) Models() []wire.ModelStatus { return slices.Clone(a.fleet.models) }

// Pending is the number of requests that have not ended.
func (a *Arbiter) Pending() int { return len(a.requests) }
