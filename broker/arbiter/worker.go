package arbiter

import (
	"fmt"
	"slices"
	"strings"

	"fairlead/wire"
)

// worker is a name that was heard in a heartbeat, found in a claim, or pinned
// to. It is live from its first heartbeat until it counts as lost.
type worker struct {
	name        string
	index       int32 // of its exact lanes
	place       int   // in fleet.live, when live
	seat        int   // in fleet.roomy, -1 when not there
	live        bool
	pinned      int    // requests in the system that are pinned to it
	incarnation uint64 // the newest known, 0 none
	beats       uint64 // sequence of its last heartbeat
	seen        int64  // when it was heard last, or when waiting for it began
	lost        int64  // when it was lost; 0 while live, or never heard
	away        int64  // since when it takes no work: lost, draining or unhealthy; 0 while it does, or never heard
	interval    int64  // between heartbeats, ns
	holdUntil   int64  // its engine said busy; 0 when it may be tried
	refusedTo   int64  // as far as it said so when it gave work back: heartbeats do not end that

	models     []string
	taints     []string
	draining   bool
	healthy    bool
	slots      int // per rank
	maxBatched int64
	declared   float64 // speed, as its heartbeats say; 0 unknown
	told       float64 // speed that its agent learned, as its heartbeats say; 0 unknown
	learned    pace    // speed, by what it did
	overloaded bool
	ranks      []rank
	work       int64 // unfinished tokens on all ranks
	bookings   map[execution]*booking
	strangers  map[uint64]int // claims it lists and we do not know, and in how many heartbeats in a row
}

// rank is the load on one data-parallel rank: the broker's own bookings,
// corrected by heartbeats.
type rank struct {
	used    int   // slots
	prefill int64 // uncached tokens handed out whose prefill has not ended
}

// execution names an attempt of a request.
type execution struct {
	id      uint64
	attempt uint32
}

// booking is the room that one attempt takes on its worker. It is made with the
// decision and outlives the request until the worker no longer has the claim.
type booking struct {
	execution
	worker      *worker
	incarnation uint64
	claim       uint64 // sequence in WORK, 0 while being stored
	rank        int
	cost        int64
	charged     int64 // for the attempt, tokens: the cost and the estimate of the output
	shared      bool  // charged while every class of the ring was backlogged
	prefill     int64 // of cost, still counted as active prefill
	first       bool  // its first token has been sent
	freed       bool  // takes no room any more
	settled     bool  // the request has an outcome or another attempt; the claim is still to leave WORK
	absent      int   // heartbeats in a row that did not list it
	heard       uint64
	checking    bool     // whether the claim is still in WORK
	started     bool     // its worker is known to have taken it
	orphaned    bool     // its worker was lost, and that has not been acted on
	won         bool     // the request ended with this attempt while the claim was being stored
	cancels     []uint64 // tokens of those who asked to cancel it meanwhile
	returned    uint64   // message in DONE that gave it back meanwhile
}

// fleet is every worker by name and by index.
type fleet struct {
	byName   map[string]*worker
	live     []*worker
	roomy    []*worker // live and with a free slot: the others need not be asked, whatever the class
	indexes  []int32   // free
	highest  int32
	models   []wire.ModelStatus // served by live workers, sorted by name
	pins     int                // requests in the system that are pinned
	nextLoss int64              // when a silent worker may next count as lost; never too late
	nextHold int64              // when the next busy engine may be tried again
}

func newFleet() fleet { return fleet{byName: map[string]*worker{}} }

// named returns the worker of a name; it makes a place for one that is unknown.
func (f *fleet) named(name string) *worker {
	if w, ok := f.byName[name]; ok {
		return w
	}
	w := &worker{name: name, index: f.newIndex(), seat: -1, bookings: map[execution]*booking{}}
	f.byName[name] = w
	return w
}

func (f *fleet) newIndex() int32 {
	if n := len(f.indexes); n > 0 {
		i := f.indexes[n-1]
		f.indexes = f.indexes[:n-1]
		return i
	}
	f.highest++
	return f.highest - 1
}

// tidy forgets a worker that nothing refers to any more.
func (f *fleet) tidy(w *worker) {
	if w.live || w.pinned > 0 || len(w.bookings) > 0 {
		return
	}
	delete(f.byName, w.name)
	f.indexes = append(f.indexes, w.index)
}

// takes reports whether the worker takes work at all, busy or not.
func (w *worker) takes() bool { return w.live && !w.draining && w.healthy }

func (f *fleet) join(w *worker) {
	w.live, w.lost, w.place = true, 0, len(f.live)
	f.live = append(f.live, w)
	f.noteRoom(w)
}

func (f *fleet) leave(w *worker) {
	last := len(f.live) - 1
	f.live[w.place] = f.live[last]
	f.live[w.place].place = w.place
	f.live[last] = nil
	f.live = f.live[:last]
	w.live = false
	f.noteRoom(w)
}

// noteRoom keeps roomy, after anything that may fill a worker or make room in it.
func (f *fleet) noteRoom(w *worker) {
	switch room := w.live && w.hasSlot(); {
	case room && w.seat < 0:
		w.seat = len(f.roomy)
		f.roomy = append(f.roomy, w)
	case !room && w.seat >= 0:
		last := len(f.roomy) - 1
		f.roomy[w.seat] = f.roomy[last]
		f.roomy[w.seat].seat = w.seat
		f.roomy[last] = nil
		f.roomy = f.roomy[:last]
		w.seat = -1
	}
}

func (w *worker) hasSlot() bool {
	for i := range w.ranks {
		if w.ranks[i].used < w.slots {
			return true
		}
	}
	return false
}

// countModels refreshes the list of models that live workers serve.
func (f *fleet) countModels() {
	count := map[string]int{}
	for _, w := range f.live {
		for _, m := range w.models {
			count[m]++
		}
	}
	f.models = f.models[:0]
	for name, n := range count {
		f.models = append(f.models, wire.ModelStatus{Name: name, Workers: n})
	}
	slices.SortFunc(f.models, func(a, b wire.ModelStatus) int { return strings.Compare(a.Name, b.Name) })
}

// maxNamed is how many models are named to a request that names none.
const maxNamed = 8

// ambiguous tells a request that names no model what it may name.
func (f *fleet) ambiguous() string {
	names := make([]string, 0, maxNamed+1)
	for _, m := range f.models[:min(len(f.models), maxNamed)] {
		names = append(names, clip(m.Name, 64))
	}
	if more := len(f.models) - maxNamed; more > 0 {
		names = append(names, fmt.Sprintf("… and %d more", more))
	}
	return wire.HeaderModel + ": missing, and the workers serve several models; want one of " + strings.Join(names, ", ")
}

func (w *worker) serves(model string) bool { return slices.Contains(w.models, model) }

// lostAt is when the worker counts as lost unless it is heard again.
func (w *worker) lostAt(lostAfter int) int64 { return w.seen + int64(lostAfter)*w.interval }

// newBooking describes the present attempt of a request; it takes no room yet.
func newBooking(r *request, w *worker, rk int) *booking {
	return &booking{
		execution: execution{r.Seq, r.attempt}, worker: w, incarnation: w.incarnation, rank: rk,
		cost: r.Cost(), charged: r.Cost(), prefill: r.Cost(), heard: w.beats,
	}
}

// book takes room on a worker for the present attempt of a request.
func (f *fleet) book(r *request, w *worker, rk int) *booking {
	b := newBooking(r, w, rk)
	w.bookings[b.execution] = b
	w.ranks[rk].used++
	w.ranks[rk].prefill += b.prefill
	w.work += b.cost
	f.noteRoom(w)
	return b
}

// firstToken notes that the client of a booking has been sent something.
func (a *Arbiter) firstToken(b *booking) {
	b.first = true
	a.endPrefill(b)
}

// endPrefill gives back the prefill of a booking; it may be told again.
func (a *Arbiter) endPrefill(b *booking) {
	if b.freed || b.prefill == 0 {
		return
	}
	b.worker.ranks[b.rank].prefill -= b.prefill
	b.prefill = 0
	a.recheck(b.worker)
}

// release gives back the room of a booking.
func (a *Arbiter) release(b *booking) {
	if b.freed {
		return
	}
	b.freed = true
	w := b.worker
	w.ranks[b.rank].used--
	w.ranks[b.rank].prefill -= b.prefill
	w.work -= b.cost
	a.fleet.noteRoom(w)
	a.recheck(w)
}

// unbook removes a booking whose claim has left WORK, or is about to.
func (a *Arbiter) unbook(b *booking) {
	a.release(b)
	delete(b.worker.bookings, b.execution)
}
