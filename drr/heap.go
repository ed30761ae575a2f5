package drr

import "slices"

// A heap keeps nodes in an order in which each goes before its four children. Those that are stale stay until they
// come to the front.
type heap[T item] []node[T]

// isStale reports whether n, a node of the heap, is dead.
func (n *node[T]) isStale() bool { return n.key.note != n.ref.generation() }

func (h *heap[T]) len() int {
	if h == nil {
		return 0
	}
	return len(*h)
}

// push adds n and moves it up to its place, which it returns.
func (h *heap[T]) push(n node[T]) int {
	*h = append(*h, n)
	nodes := *h
	i := len(nodes) - 1
	for i > 0 {
		parent := (i - 1) / 4
		if !n.key.before(&nodes[parent].key) {
			break
		}
		nodes[i] = nodes[parent]
		i = parent
	}
	nodes[i] = n
	return i
}

// drop takes out the first node.
func (h *heap[T]) drop() {
	nodes := *h
	last := len(nodes) - 1
	n := nodes[last]
	nodes[last] = node[T]{}
	*h = nodes[:last]
	if last > 0 {
		h.sift(0, n)
	}
}

// sift puts n at i and moves it down to its place.
func (h *heap[T]) sift(i int, n node[T]) {
	nodes := *h
	for {
		child := 4*i + 1
		if child >= len(nodes) {
			break
		}
		least := child
		if child+3 < len(nodes) {
			four := (*[4]node[T])(nodes[child:]) // without a branch
			left := four[1].key.less(&four[0].key)
			right := 2 + four[3].key.less(&four[2].key)
			least += int(left + (right-left)*four[right&3].key.less(&four[left&3].key))
		} else {
			for c := child + 1; c < len(nodes); c++ {
				if nodes[c].key.before(&nodes[least].key) {
					least = c
				}
			}
		}
		if !nodes[least].key.before(&n.key) {
			break
		}
		nodes[i] = nodes[least]
		i = least
	}
	nodes[i] = n
}

// compact drops every stale node.
func (h *heap[T]) compact() {
	*h = slices.DeleteFunc(*h, func(n node[T]) bool { return n.isStale() })
	for i := (len(*h)+2)/4 - 1; i >= 0; i-- {
		h.sift(i, (*h)[i])
	}
}

// reset empties the heap, and reports whether it is small enough to keep.
func (h *heap[T]) reset() bool {
	clear(*h)
	*h = (*h)[:0]
	return cap(*h) <= retain
}

// each visits the live items until fn returns false; it reports whether all were visited.
func (h *heap[T]) each(fn func(T) bool) bool {
	for i := range h.len() {
		if n := &(*h)[i]; !n.isStale() && !fn(n.ref) {
			return false
		}
	}
	return true
}
