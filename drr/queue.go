package drr

// A node stands for its item in a queue and carries the key, so that ordering never touches the
// item. It is stale once the item's generation has moved on.
type node[T item] struct {
	key key
	ref T
}

type item interface {
	*Entry | *lane | *member
	generation() uint32
}

// A queue is a priority queue in two parts. Items that come in key order, as arrivals do in most
// classes, form a run: appended at its end, taken from its front. The others go to a
// heap of four children a node. The first item is the lesser of the two fronts.
//
// Removal leaves a stale node behind; it is dropped when it reaches a front, or by compact when stale
// nodes outnumber live ones, so that a removal costs O(1) amortised. A front is never stale.
type queue[T item] struct {
	run   []node[T] // run[first:] waits, in key order
	heap  []node[T]
	first int32
	live  int32 // items that wait
}

const (
	slack  = 32 // nodes that are not worth tidying up
	retain = 64 // capacity, in nodes, that an empty queue keeps for the next burst
)

func (q *queue[T]) stale() int { return len(q.run) - int(q.first) + len(q.heap) - int(q.live) }

// top returns the first node; the queue must not be empty.
func (q *queue[T]) top() *node[T] {
	if q.inHeap() {
		return &q.heap[0]
	}
	return &q.run[q.first]
}

// inHeap reports whether the first item is the heap's.
func (q *queue[T]) inHeap() bool {
	if len(q.heap) == 0 {
		return false
	}
	return int(q.first) == len(q.run) || q.heap[0].key.before(&q.run[q.first].key)
}

func (q *queue[T]) push(n node[T]) {
	q.live++
	q.insert(n)
}

func (q *queue[T]) insert(n node[T]) {
	if q.follows(&n) {
		q.extend(n)
		return
	}
	q.heap = append(q.heap, n)
	siftUp(q.heap)
}

// follows reports whether n may be appended to the run.
func (q *queue[T]) follows(n *node[T]) bool {
	return int(q.first) == len(q.run) || q.run[len(q.run)-1].key.before(&n.key)
}

// replace does what pop and push of n would, with less work.
func (q *queue[T]) replace(n node[T]) {
	switch heap := q.inHeap(); {
	case !heap && int(q.first) == len(q.run)-1:
		q.run[q.first] = n
		return
	case !heap:
		q.dropRun()
		q.insert(n)
	case q.follows(&n):
		q.dropHeap()
		q.extend(n)
	default:
		siftDown(q.heap, 0, n)
	}
	q.tidy()
}

// pop takes the first item; the queue must not be empty.
func (q *queue[T]) pop() T {
	var ref T
	if q.inHeap() {
		ref = q.heap[0].ref
		q.dropHeap()
	} else {
		ref = q.run[q.first].ref
		q.dropRun()
	}
	q.live--
	q.tidy()
	return ref
}

// removed says that the generation of an item that waited here has moved on.
func (q *queue[T]) removed() {
	q.live--
	q.tidy()
}

// tidy restores the rule that no front is stale.
func (q *queue[T]) tidy() {
	if q.live == 0 || q.stale() > 0 {
		q.dropStale()
	}
}

func (q *queue[T]) dropStale() {
	if q.live == 0 {
		q.reset()
		return
	}
	if q.stale() > int(q.live)+slack {
		q.compact()
		return
	}
	for int(q.first) < len(q.run) && q.run[q.first].isStale() {
		q.dropRun()
	}
	for len(q.heap) > 0 && q.heap[0].isStale() {
		q.dropHeap()
	}
}

func (n *node[T]) isStale() bool { return n.key.gen != n.ref.generation() }

// reset empties the queue, and gives back what a burst left behind.
func (q *queue[T]) reset() {
	clear(q.run)
	clear(q.heap)
	q.run, q.heap, q.first = q.run[:0], q.heap[:0], 0
	if cap(q.run) > retain {
		q.run = nil
	}
	if cap(q.heap) > retain {
		q.heap = nil
	}
}

// compact drops every stale node.
func (q *queue[T]) compact() {
	q.run = keepLive(q.run[:0], q.run[q.first:], q.run)
	q.first = 0
	q.heap = keepLive(q.heap[:0], q.heap, q.heap)
	for i := (len(q.heap)+2)/4 - 1; i >= 0; i-- {
		siftDown(q.heap, i, q.heap[i])
	}
}

// keepLive moves the live nodes of from to the start of whole and clears the rest of it.
func keepLive[T item](to, from, whole []node[T]) []node[T] {
	for _, n := range from {
		if !n.isStale() {
			to = append(to, n)
		}
	}
	clear(whole[len(to):])
	return to
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

func (q *queue[T]) dropHeap() {
	last := len(q.heap) - 1
	n := q.heap[last]
	q.heap[last] = node[T]{}
	q.heap = q.heap[:last]
	if last > 0 {
		siftDown(q.heap, 0, n)
	}
}

// each visits the live items, in no order, until fn returns false; it reports whether all were visited.
func (q *queue[T]) each(fn func(T) bool) bool {
	for _, part := range [2][]node[T]{q.run[q.first:], q.heap} {
		for i := range part {
			if !part[i].isStale() && !fn(part[i].ref) {
				return false
			}
		}
	}
	return true
}

// siftUp moves the last node up to its place.
func siftUp[T item](heap []node[T]) {
	i := len(heap) - 1
	n := heap[i]
	for i > 0 {
		parent := (i - 1) / 4
		if !n.key.before(&heap[parent].key) {
			break
		}
		heap[i] = heap[parent]
		i = parent
	}
	heap[i] = n
}

// siftDown puts n at i and moves it down to its place.
func siftDown[T item](heap []node[T], i int, n node[T]) {
	for {
		child := 4*i + 1
		if child >= len(heap) {
			break
		}
		least := child
		if child+3 < len(heap) {
			least = lesser(heap, lesser(heap, child, child+1), lesser(heap, child+2, child+3))
		} else {
			for c := child + 1; c < len(heap); c++ {
				least = lesser(heap, least, c)
			}
		}
		if !heap[least].key.before(&n.key) {
			break
		}
		heap[i] = heap[least]
		i = least
	}
	heap[i] = n
}

// lesser returns which of i and j comes first, without a branch.
func lesser[T item](heap []node[T], i, j int) int {
	return i + (j-i)*int(heap[j].key.less(&heap[i].key))
}
