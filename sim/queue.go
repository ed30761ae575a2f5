package sim

import (
	"container/heap"

	"fairlead/broker/arbiter"
	"fairlead/wire"
)

// message is on its way: an event for the arbiter, or a claim or a command for an
// incarnation of a worker.
type message struct {
	at          int64
	event       arbiter.Event // for the arbiter; nil for a worker
	worker      *worker
	incarnation uint64
	command     *wire.Command // nil for a claim
	claim       wire.Claim
	seq         uint64 // of the claim in WORK
}

// wireline is what is on its way. All messages take the same time, so the first
// sent is the first to arrive.
type wireline struct {
	items       []message // a ring; its length is a power of two
	first, size int
}

func (q *wireline) due() int64 {
	if q.size == 0 {
		return never
	}
	return q.items[q.first].at
}

func (q *wireline) push(m message) {
	if q.size == len(q.items) {
		q.grow()
	}
	q.items[(q.first+q.size)&(len(q.items)-1)] = m
	q.size++
}

func (q *wireline) pop() message {
	m := q.items[q.first]
	q.items[q.first] = message{}
	q.first = (q.first + 1) & (len(q.items) - 1)
	q.size--
	return m
}

func (q *wireline) grow() {
	bigger := make([]message, max(64, 2*len(q.items)))
	n := copy(bigger, q.items[q.first:])
	copy(bigger[n:], q.items[:q.first])
	q.items, q.first = bigger, 0
}

// timer is something that happens at a time. It is embedded in what it belongs to.
type timer struct {
	at    int64
	order uint64 // of setting; breaks ties
	place int    // in the heap, plus one; 0 when it is not set
	fire  func(*Sim)
}

// timers is a heap of those that are set.
type timers struct {
	heap timerHeap
	sets uint64
}

func (t *timers) due() int64 {
	if len(t.heap) == 0 {
		return never
	}
	return t.heap[0].at
}

func (t *timers) pop() *timer { return heap.Pop(&t.heap).(*timer) }

// set arms a timer, or moves one that is armed.
func (t *timers) set(x *timer, at int64) {
	t.sets++
	x.at, x.order = at, t.sets
	if x.place > 0 {
		heap.Fix(&t.heap, x.place-1)
		return
	}
	heap.Push(&t.heap, x)
}

// stop disarms a timer, armed or not.
func (t *timers) stop(x *timer) {
	if x.place > 0 {
		heap.Remove(&t.heap, x.place-1)
	}
}

type timerHeap []*timer

func (h timerHeap) Len() int { return len(h) }
func (h timerHeap) Less(i, j int) bool {
	if h[i].at != h[j].at {
		return h[i].at < h[j].at
	}
	return h[i].order < h[j].order
}

func (h timerHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].place, h[j].place = i+1, j+1
}

func (h *timerHeap) Push(x any) {
	t := x.(*timer)
	*h = append(*h, t)
	t.place = len(*h)
}

func (h *timerHeap) Pop() any {
	old := *h
	t := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	t.place = 0
	return t
}
