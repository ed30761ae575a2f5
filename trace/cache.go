package trace

import (
	"container/list"
	"slices"
)

// prefixCache remembers which prompt blocks a server would still hold.
type prefixCache struct {
	capacity int // blocks; 0 = endless
	recent   *list.List
	place    map[uint64]*list.Element // block → its element in recent
}

// newPrefixCache holds the whole blocks of the given tokens, at least one; 0 tokens
// means no limit.
func newPrefixCache(tokens int) *prefixCache {
	capacity := tokens / BlockTokens
	if tokens > 0 {
		capacity = max(1, capacity)
	}
	return &prefixCache{capacity: capacity, recent: list.New(), place: map[uint64]*list.Element{}}
}

// admit says how many leading blocks were held, and holds them all.
func (c *prefixCache) admit(blocks []uint64) int {
	hits := slices.IndexFunc(blocks, func(b uint64) bool { return c.place[b] == nil })
	if hits < 0 {
		hits = len(blocks)
	}
	for _, block := range slices.Backward(blocks) { // the head is touched last and goes last
		c.touch(block)
	}
	c.evict()
	return hits
}

func (c *prefixCache) touch(block uint64) {
	if e := c.place[block]; e != nil {
		c.recent.MoveToFront(e)
		return
	}
	c.place[block] = c.recent.PushFront(block)
}

func (c *prefixCache) evict() {
	for c.capacity > 0 && c.recent.Len() > c.capacity {
		oldest := c.recent.Back()
		delete(c.place, c.recent.Remove(oldest).(uint64))
	}
}
