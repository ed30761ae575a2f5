package drr

// A lane holds the entries of one flow for one target, in key order. Its head is in the index of the flow
// (ready), or was found blocked and waits for a recheck in a list of its worker's blocked lanes.
type lane struct {
	head    *Entry // first of entries, as listed; kept here to be at hand when it is tested
	cost    int64  // what the head will be charged
	flow    *flow
	target  Target
	entries queue[*Entry]
	sibling *lane  // the next exact lane of the same class and worker, or the next one not in use
	elder   *lane  // the one before
	gen     uint32 // counts the moves that leave a stale node in the index
	blocked bool
	prev    *lane // neighbours in the list of blocked lanes
	next    *lane
}

func (l *lane) generation() uint32 { return l.gen }

// exact is 1 for an exact lane, 0 for a shared one.
func (l *lane) exact() int {
	if l.target.Worker < 0 {
		return 0
	}
	return 1
}

// node takes note of the head and returns the node that stands for it in the index. A head is charged the
// surcharge of the time when it became the head.
func (l *lane) node() node[*lane] {
	top := l.entries.top()
	if l.head != top.ref {
		l.head, l.cost = top.ref, top.ref.Cost()+l.flow.class.surcharge
	}
	k := top.key
	k.gen = l.gen
	return node[*lane]{key: k, ref: l}
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
