package drr

import (
	"slices"
	"sort"
)

// A node stands for its item in a queue and carries the key, so that ordering never touches the item.
//
// In the run it notes the cost of the item, and has no item once that was removed. In the heap it notes
// the generation of the item, and is stale once that has moved on.
type node[T item] struct {
	key key
	ref T
}

type item interface {
	*Entry | *lane
	generation() uint32
}

// A queue is a priority queue in two parts. Items that come in key order, as arrivals do in most
// classes, form a run: appended at its end, taken from its front. The others go to a
// heap of four children a node. The first item is the lesser of the two fronts.
//
// Removal leaves a dead node behind; it is dropped when it reaches a front, or by compact when dead
// nodes outnumber live ones. So a removal costs no more than a search in the run. A front is never dead.
type queue[T item] struct {
	run   []node[T] // run[first:] waits, in key order
	heap  *heap[T]  // nil until something comes out of order
	first int32
	live  int32 // items that wait
}

const (
	slack  = 32 // nodes that are not worth tidying up
	retain = 64 // capacity, in nodes, that an empty queue keeps for the next burst
)

func (q *queue[T]) dead() int { return len(q.run) - int(q.first) + q.heap.len() - int(q.live) }

// top returns the first node; the queue must not be empty.
func (q *queue[T]) top() *node[T] {
	if q.heap != nil {
		return q.topOfBoth()
	}
	return &q.run[q.first]
}

func (q *queue[T]) topOfBoth() *node[T] {
	if q.inHeap() {
		return &(*q.heap)[0]
	}
	return &q.run[q.first]
}

// inHeap reports whether the first item is the heap's.
func (q *queue[T]) inHeap() bool {
	if q.heap.len() == 0 {
		return false
	}
	return int(q.first) == len(q.run) || (*q.heap)[0].key.before(&q.run[q.first].key)
}

// push adds n, which notes the generation of its item, of a cost. It reports whether that is the first item now.
func (q *queue[T]) push(n node[T], cost uint32) bool {
	q.live++
	return q.insert(n, cost)
}

func (q *queue[T]) insert(n node[T], cost uint32) bool {
	if q.follows(&n) {
		n.key.note = cost
		q.extend(n)
		return int(q.first) == len(q.run)-1 && !q.inHeap()
	}
	if q.heap == nil {
		q.heap = new(heap[T])
	}
	return q.heap.push(n) == 0 && q.inHeap()
}

// follows reports whether n may be appended to the run.
func (q *queue[T]) follows(n *node[T]) bool {
	return int(q.first) == len(q.run) || q.run[len(q.run)-1].key.before(&n.key)
}

// replace does what pop and push of n would, with less work.
func (q *queue[T]) replace(n node[T]) {
	switch heaped := q.inHeap(); {
	case !heaped && int(q.first) == len(q.run)-1:
		q.run[q.first] = n
		return
	case !heaped:
		q.dropRun()
		q.insert(n, 0)
	case q.follows(&n):
		q.heap.drop()
		q.extend(n)
	default:
		q.heap.sift(0, n)
	}
	q.tidy()
}

// pop takes the first item; the queue must not be empty.
func (q *queue[T]) pop() T {
	var ref T
	if q.inHeap() {
		ref = (*q.heap)[0].ref
		q.heap.drop()
	} else {
		ref = q.run[q.first].ref
		q.dropRun()
	}
	q.live--
	q.tidy()
	return ref
}

// remove drops an item that waits under the key k, and whose generation has moved on.
func (q *queue[T]) remove(k key, ref T) {
	run := q.run[q.first:]
	if i := sort.Search(len(run), func(i int) bool { return !run[i].key.before(&k) }); i < len(run) && run[i].ref == ref {
		run[i].ref = nil
	}
	q.live--
	q.tidy()
}

// tidy restores the rule that no front is dead.
func (q *queue[T]) tidy() {
	if q.dead() > 0 || q.live == 0 && (q.heap != nil || cap(q.run) > retain) {
		q.dropDead()
	}
}

func (q *queue[T]) dropDead() {
	if q.live == 0 {
		q.reset()
		return
	}
	if q.dead() > int(q.live)+slack {
		q.compact()
		return
	}
	for int(q.first) < len(q.run) && q.run[q.first].isDead() {
		q.dropRun()
	}
	for q.heap.len() > 0 && (*q.heap)[0].isStale() {
		q.heap.drop()
	}
}

// isDead reports whether n, a node of the run, is dead.
func (n *node[T]) isDead() bool { return n.ref == nil }

// reset empties the queue, and gives back what a burst left behind.
func (q *queue[T]) reset() {
	clear(q.run)
	q.run, q.first = q.run[:0], 0
	if cap(q.run) > retain {
		q.run = nil
	}
	if q.heap != nil && !q.heap.reset() {
		q.heap = nil
	}
}

// compact drops every dead node.
func (q *queue[T]) compact() {
	n := copy(q.run, q.run[q.first:])
	live := slices.DeleteFunc(q.run[:n], func(n node[T]) bool { return n.isDead() })
	clear(q.run[len(live):])
	q.run, q.first = live, 0
	if q.heap != nil {
		q.heap.compact()
	}
}

// extend appends to the run; once the front quarter is used up it moves down instead of growing.
func (q *queue[T]) extend(n node[T]) {
	if len(q.run) == cap(q.run) && int(q.first) > len(q.run)/4 {
		q.moveDown()
	}
	q.run = append(q.run, n)
}

// moveDown makes room at the end of the run, in a smaller array if a burst left this one too large.
func (q *queue[T]) moveDown() {
	to, from := q.run[:0], q.run[q.first:]
	if cap(q.run) > retain && len(from) < cap(q.run)/8 {
		to = make([]node[T], 0, 2*len(from)+1)
	}
	to = append(to, from...)
	clear(q.run[max(len(to), int(q.first)):])
	q.run, q.first = to, 0
}

func (q *queue[T]) dropRun() {
	q.run[q.first] = node[T]{}
	q.first++
	if int(q.first) == len(q.run) {
		q.run, q.first = q.run[:0], 0
	}
}

// each visits the live items, in no order, until fn returns false; it reports whether all were visited.
func (q *queue[T]) each(fn func(T) bool) bool {
	for i := range q.run[q.first:] {
		if n := &q.run[int(q.first)+i]; !n.isDead() && !fn(n.ref) {
			return false
		}
	}
	return q.heap.each(fn)
}
