package drr

// A lane holds the entries of one flow for one target, in key order. Its head can go, for all that is known, or was
// found blocked and waits for a recheck in a list of its worker's blocked lanes.
//
// What every dispatch needs comes first and fills a cache line.
type lane struct {
	head    *Entry // first of entries, as observed; kept here to be at hand when it is tested
	cost    int64  // what the head will be charged
	entries queue[*Entry]
	gen     uint32 // counts the moves that leave a stale node in the index
	blocked bool

	flow    *flow
	target  Target
	sibling *lane // the next exact lane of the same class and worker, or the next one not in use
	elder   *lane // the one before
	prev    *lane // neighbours in the list of blocked lanes
	next    *lane
}

// newLane returns a lane that begins with a cache line, as objects of two do.
func newLane() *lane {
	padded := new(struct {
		lane
		_ [16]byte
	})
	return &padded.lane
}

func (l *lane) generation() uint32 { return l.gen }

// exact reports whether l is the lane of one worker.
func (l *lane) exact() bool { return l.target.Worker >= 0 }

// observe takes note of the head and returns its key. It is charged the surcharge of the time when it became the head.
func (l *lane) observe() *key {
	top := l.entries.top()
	if e := top.ref; e != l.head {
		l.head, l.cost = e, l.headCost(top)+l.flow.class.surcharge
	}
	return &top.key
}

// headCost returns the cost of the head, if possible without touching it, because it is seldom in a cache yet.
func (l *lane) headCost(top *node[*Entry]) int64 {
	if h := l.entries.heap; h.len() > 0 && top == &(*h)[0] {
		return top.ref.Cost()
	}
	return int64(top.key.note)
}

// node returns the node that stands for l in the index, under the key of its head.
func (l *lane) node(k *key) node[*lane] {
	return node[*lane]{key: key{score: k.score, seq: k.seq, strict: k.strict, note: l.gen}, ref: l}
}

// blockedLanes keeps lanes whose head was found blocked, by worker. Shared lanes come first.
type blockedLanes struct {
	heads []*lane // heads[w+1] begins the list of worker w, heads[0] that of the shared lanes
}

func (b *blockedLanes) at(worker int32) int { return max(int(worker), -1) + 1 }

// reserve makes room for the lanes of worker, so that add need not.
func (b *blockedLanes) reserve(worker int32) {
	if missing := b.at(worker) + 1 - len(b.heads); missing > 0 {
		b.heads = append(b.heads, make([]*lane, missing)...)
	}
}

func (b *blockedLanes) add(l *lane) {
	i := b.at(l.target.Worker)
	l.blocked, l.next = true, b.heads[i]
	if l.next != nil {
		l.next.prev = l
	}
	b.heads[i] = l
}

func (b *blockedLanes) remove(l *lane) {
	if l.prev != nil {
		l.prev.next = l.next
	} else {
		b.heads[b.at(l.target.Worker)] = l.next
	}
	if l.next != nil {
		l.next.prev = l.prev
	}
	l.blocked, l.prev, l.next = false, nil, nil
}

// first returns a lane of list i, or nil.
func (b *blockedLanes) first(i int) *lane {
	if i >= len(b.heads) {
		return nil
	}
	return b.heads[i]
}
