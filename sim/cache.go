package sim

import "container/list"

// cache is the prefix cache of a worker: how many tokens it holds of each session.
// Without a capacity it believes what requests say.
type cache struct {
	capacity, held int64 // tokens
	recent         *list.List
	sessions       map[string]*list.Element
}

type holding struct {
	session string
	tokens  int64
}

func newCache(capacity int64) *cache {
	return &cache{capacity: capacity, recent: list.New(), sessions: map[string]*list.Element{}}
}

// admit says how many tokens of a prompt need no prefill, and holds the prompt.
func (c *cache) admit(r *Request) uint32 {
	if c.capacity == 0 || r.Session == "" {
		return r.Cached
	}
	e := c.sessions[r.Session]
	if e == nil {
		e = c.recent.PushFront(&holding{session: r.Session})
		c.sessions[r.Session] = e
	}
	c.recent.MoveToFront(e)
	h := e.Value.(*holding)
	hit := min(h.tokens, int64(r.Cached))
	c.held += int64(r.Input) - h.tokens
	h.tokens = int64(r.Input)
	c.evict()
	return uint32(hit)
}

func (c *cache) evict() {
	for c.held > c.capacity {
		e := c.recent.Back()
		h := c.recent.Remove(e).(*holding)
		delete(c.sessions, h.session)
		c.held -= h.tokens
	}
}
