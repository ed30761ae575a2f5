package arbiter

import (
	"container/heap"
	"slices"

	"fairlead/wire"
)

// deadlines orders requests that have one. Entries of requests that ended first
// are passed over when their time comes, or dropped when they are most of all.
type deadlines struct{ heap deadlineHeap }

type deadline struct {
	at int64 // unix nanoseconds
	id uint64
}

func (d *deadlines) add(r *request) {
	if r.Deadline != 0 {
		heap.Push(&d.heap, deadline{r.Deadline, r.Seq})
	}
}

// next is the earliest deadline, 0 when there is none.
func (d *deadlines) next() int64 {
	if len(d.heap) == 0 {
		return 0
	}
	return d.heap[0].at
}

// due takes out a request whose deadline has come, if there is one.
func (d *deadlines) due(now int64) (id uint64, ok bool) {
	if !due(d.next(), now) {
		return 0, false
	}
	return heap.Pop(&d.heap).(deadline).id, true
}

// slack is how many entries of ended requests are not worth dropping.
const slack = 1024

// tidy drops the entries of requests that have ended, now and then.
func (d *deadlines) tidy(requests map[uint64]*request) {
	if len(d.heap) < 2*len(requests)+slack {
		return
	}
	d.heap = slices.DeleteFunc(d.heap, func(x deadline) bool { return requests[x.id] == nil })
	heap.Init(&d.heap)
}

// expire ends what waited too long. A running request is its agent's to end: the
// claim carries the time that is left.
func (a *Arbiter) expire() {
	for {
		id, ok := a.expiry.due(a.now)
		if !ok {
			return
		}
		if r := a.requests[id]; r != nil && r.waits() {
			a.judge(r, wire.DeadlineExceeded, "its time to live ended while it was queued")
		}
	}
}

type deadlineHeap []deadline

func (h deadlineHeap) Len() int           { return len(h) }
func (h deadlineHeap) Less(i, j int) bool { return h[i].at < h[j].at }
func (h deadlineHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *deadlineHeap) Push(x any)        { *h = append(*h, x.(deadline)) }
func (h *deadlineHeap) Pop() any {
	old := *h
	last := old[len(old)-1]
	*h = old[:len(old)-1]
	return last
}

// fifo is a queue that reuses its room.
type fifo[T any] struct {
	items []T
	first int
}

func (f *fifo[T]) push(v T) {
	if len(f.items) == cap(f.items) && f.first > len(f.items)/2 {
		n := copy(f.items, f.items[f.first:])
		clear(f.items[n:])
		f.items, f.first = f.items[:n], 0
	}
	f.items = append(f.items, v)
}
func (f *fifo[T]) len() int { return len(f.items) - f.first }

func (f *fifo[T]) pop() T {
	var zero T
	v := f.items[f.first]
	f.items[f.first] = zero
	f.first++
	if f.first == len(f.items) {
		f.items, f.first = f.items[:0], 0
	}
	return v
}
