package recorder

import (
	"cmp"
	"slices"
	"time"

	"fairlead/trace"
	"fairlead/wire"
)

// book is what is known of every request that has not been written. Instants are
// nanoseconds since the start of the recording.
type book struct {
	write   func(line any)
	open    map[uint64]*page
	before  uint64 // id of the last request that was stored before the recording began
	order   uint64 // hand-outs so far
	epoch   uint64 // highest of a leader
	workers map[string]trace.RecordedWorker
	count   Count

	recent map[uint64]bool // ids that were written last: what comes about them is late
	ring   []uint64        // the same, in order
	next   int
}

// remembered is how many requests that have been written are kept in mind.
const remembered = 1 << 16

// Count is what a recording holds.
type Count struct {
	Written int    // requests
	Open    int    // of them, without an end when the recording ended
	Missed  uint64 // known of by their claims alone

	Breaks     uint64 // of the connection: what was published meanwhile is missing
	Unreadable int    // left out, because their headers are wrong
}

// page is one request.
type page struct {
	trace.Recorded
	arrived, ended bool
}

func newBook(write func(any)) *book {
	return &book{
		write: write, open: map[uint64]*page{}, workers: map[string]trace.RecordedWorker{},
		recent: map[uint64]bool{}, ring: make([]uint64, remembered),
	}
}

func (b *book) page(id uint64) *page {
	p := b.open[id]
	if p == nil {
		p = &page{Recorded: trace.Recorded{ID: id}}
		b.open[id] = p
	}
	return p
}

// closed reports whether a request has been written.
func (b *book) closed(id uint64) bool { return b.recent[id] }

// shut forgets a request but for its id.
func (b *book) shut(id uint64) {
	delete(b.open, id)
	delete(b.recent, b.ring[b.next])
	b.ring[b.next] = id
	b.recent[id] = true
	b.next = (b.next + 1) % len(b.ring)
}

// unreadable leaves a request out that no broker can read: it takes nothing from
// anybody.
func (b *book) unreadable(id uint64) {
	if !b.closed(id) {
		b.shut(id)
		b.count.Unreadable++
	}
}

// arrived takes in a message of REQ.
func (b *book) arrived(id uint64, at int64, q *wire.Request) {
	if b.closed(id) {
		return
	}
	p := b.page(id)
	if p.arrived {
		return // an ordered consumer that starts over may repeat
	}
	p.arrived = true
	p.AtNS, p.Class, p.Input, p.Cached, p.MaxOutput = at, q.Class, q.Input, q.Cached, q.MaxOutput
	p.Model, p.Tenant, p.Priority, p.Strict, p.TTLMS = q.Model, q.Tenant, q.Priority, q.Strict, q.TTL.Milliseconds()
	p.Worker, p.Soft, p.NoQueue, p.Retry = q.Worker, q.Pin == wire.PinPrefer && q.Worker != "", q.NoQueue, retryWord(q.Retry)
	p.Allow, p.Require, p.Prefer = q.Allow, q.Require, q.Prefer
	if q.Rank != wire.AnyRank && q.Worker != "" {
		p.Rank = &q.Rank
	}
	b.settle(p)
}

func retryWord(r wire.Retry) string {
	switch r {
	case wire.RetryAlways:
		return "always"
	case wire.RetryNever:
		return "never"
	case wire.RetryAuto:
	}
	return ""
}

// attempt finds an attempt of a request, or makes a place for it.
func (p *page) attempt(n uint32) *trace.Attempt {
	i, found := slices.BinarySearchFunc(p.Attempts, n, func(a trace.Attempt, n uint32) int { return cmp.Compare(a.Number, n) })
	if !found {
		p.Attempts = slices.Insert(p.Attempts, i, trace.Attempt{Number: n, Cached: -1})
	}
	return &p.Attempts[i]
}

// claimed takes in a claim as it is published. A leader that has been replaced may
// publish some that the store refuses.
func (b *book) claimed(c *wire.Claim, worker string, at int64) {
	if c.Epoch < b.epoch {
		return
	}
	b.epoch = c.Epoch
	if b.closed(c.ID) {
		return
	}
	a := b.page(c.ID).attempt(c.Attempt)
	if a.Order != 0 {
		return // published again
	}
	b.order++
	a.Order, a.Worker, a.HandedNS = b.order, worker, at
}

// judged takes in a verdict as it is published.
func (b *book) judged(v *wire.Verdict) {
	if v.Epoch < b.epoch {
		return
	}
	b.epoch = v.Epoch
	if b.closed(v.ID) {
		return
	}
	p := b.page(v.ID)
	p.Reason, p.ended = string(v.Reason), true
	b.settle(p)
}

// done takes in a report as it is published.
func (b *book) done(d *wire.Done, at int64) {
	if b.closed(d.ID) {
		return
	}
	p := b.page(d.ID)
	a := p.attempt(d.Attempt)
	if a.EndNS != 0 {
		return // published again
	}
	a.Worker, a.EndNS, a.Status, a.Reason, a.Cached = d.Worker, at, string(d.Status), string(d.Reason), d.Usage.Cached
	if a.HandedNS == 0 { // before the recording began
		a.HandedNS = at - d.TotalMS*int64(time.Millisecond)
	}
	if a.FirstNS == 0 && d.FirstMS > 0 {
		a.FirstNS = at - max(d.TotalMS-d.FirstMS, 0)*int64(time.Millisecond)
	}
	switch d.Status {
	case wire.StatusOK:
		p.Output = uint32(min(max(d.Usage.Output, 0), wire.MaxTokens))
		p.ended = true
	case wire.StatusError:
		p.ended = true
	case wire.StatusReturned, wire.StatusCancelled, wire.StatusGone: // no outcome
	}
	b.settle(p)
}

// progressed takes in an event of a worker.
func (b *book) progressed(e *wire.Event, at int64) {
	if p := b.open[e.ID]; p != nil && e.Kind == wire.EventFirstToken {
		if a := p.attempt(e.Attempt); a.FirstNS == 0 {
			a.FirstNS = at
		}
	}
}

// beat takes in a heartbeat: what it says of the worker is written when it is new.
func (b *book) beat(h *wire.Heartbeat, at int64) {
	before, known := b.workers[h.Worker]
	w := trace.RecordedWorker{
		Worker: h.Worker, Models: h.Models, Taints: h.Taints, Ranks: max(h.Ranks, 1), Slots: max(h.Slots, 1),
		MaxBatched: h.MaxBatched, Speed: h.Speed, JoinedNS: at,
	}
	if known {
		w.JoinedNS = before.JoinedNS
		if slices.Equal(w.Models, before.Models) && slices.Equal(w.Taints, before.Taints) && w.Ranks == before.Ranks &&
			w.Slots == before.Slots && w.MaxBatched == before.MaxBatched && w.Speed == before.Speed {
			return
		}
	}
	b.workers[h.Worker] = w
	b.write(w)
}

// lacks reports whether the headers of a request are missing that must have been
// stored since the recording began.
func (b *book) lacks() bool {
	for id, p := range b.open {
		if !p.arrived && id > b.before {
			return true
		}
	}
	return false
}

// settle writes a request whose arrival and end are known.
func (b *book) settle(p *page) {
	if p.arrived && p.ended {
		b.shut(p.ID)
		b.count.Written++
		b.write(p.Recorded)
	}
}

// close writes what is open, oldest first.
func (b *book) close() {
	rest := make([]*page, 0, len(b.open))
	for _, p := range b.open {
		rest = append(rest, p)
	}
	slices.SortFunc(rest, func(x, y *page) int { return cmp.Compare(x.ID, y.ID) })
	for _, p := range rest {
		switch {
		case p.arrived:
			b.count.Written++
			b.count.Open++
			b.write(p.Recorded)
		case p.ID > b.before:
			b.count.Missed++
		}
	}
}
