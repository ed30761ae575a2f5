package drr

// A lane holds the entries of one class for one target, in key order. Its head is in the class's index
// (ready), or was found blocked and waits for a recheck in a list of its worker's blocked lanes.
type lane struct {
	head    *Entry // first of entries, as listed; kept here to be at hand when it is tested
	cost    int64  // of head
	class   *class
	target  Target
	entries queue[*Entry]
	sibling *lane  // the next lane of the same class and worker, or the next spare lane
	gen     uint32 // counts the moves that leave a stale node in the index
	blocked bool
	prev    *lane // neighbours in the list of blocked lanes
	next    *lane
}

func (l *lane) generation() uint32 { return l.gen }

// list puts the lane into the index under the key of its head.
func (l *lane) list() { l.class.ready.push(l.node()) }

// relist does the same for a lane that is first in the index and got another head.
func (l *lane) relist() { l.class.ready.replace(l.node()) }

// node takes note of the head and returns the node that stands for it in the index.
func (l *lane) node() node[*lane] {
	top := l.entries.top()
	l.head, l.cost = top.ref, top.ref.Cost()
	k := top.key
	k.gen = l.gen
	return node[*lane]{key: k, ref: l}
}

// delist takes the lane out of the index.
func (l *lane) delist() {
	l.gen++
	l.class.ready.removed()
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

// release puts the lanes of list i back into the index, to be tested again.
func (b *blockedLanes) release(i int) {
	for i < len(b.heads) && b.heads[i] != nil {
		l := b.heads[i]
		b.remove(l)
		l.list()
	}
}
