package lab

import "container/heap"

// item is a job under the number by which it is ordered.
type item struct {
	key float64
	job int
}

// byKey is a heap of items, the smallest key first, and of equal ones the earlier job.
type byKey []item

func (h byKey) Len() int { return len(h) }
func (h byKey) Less(i, j int) bool {
	return h[i].key < h[j].key || h[i].key == h[j].key && h[i].job < h[j].job
}
func (h byKey) Swap(i, j int) { h[i], h[j] = h[j], h[i] }

// Push and Pop are for package heap.
func (h *byKey) Push(x any) { *h = append(*h, x.(item)) }

func (h *byKey) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}

func (h *byKey) add(key float64, job int) { heap.Push(h, item{key, job}) }
func (h *byKey) take() item               { return heap.Pop(h).(item) }
