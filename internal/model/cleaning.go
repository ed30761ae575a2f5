package model

// dropClaims deletes what newer claims have replaced.
func (m *model) dropClaims(b uint8) {
	if m.now.broker[b].drop == 0 {
		return
	}
	n := m.begin()
	n.remove(n.broker[b].drop)
	m.take(dropClaims, b, 0, uint8(n.broker[b].drop))
}

// purge removes the beginning of DONE, as far as nobody needs it.
func (m *model) purge(b uint8) {
	br := &m.now.broker[b]
	var spent set
	for i := range br.seenDone {
		switch d := &m.now.done[i]; {
		case !d.present:
		case m.spent(br, i):
			spent = spent.with(i)
		case m.sc.Rules.PurgePrefix:
			m.purgeThrough(b, spent)
			return
		}
	}
	if last, some := spent.last(); some && !m.sc.Rules.PurgePrefix {
		spent = m.now.inDone() & below(last+1)
	}
	m.purgeThrough(b, spent)
}

func (m *model) purgeThrough(b uint8, spent set) {
	if spent == 0 {
		return
	}
	n := m.begin()
	for i := range n.reports {
		if spent.has(i) {
			n.done[i].present = false
		}
	}
	m.take(purgeDone, b, 0, uint8(spent))
}

// spent reports whether a message of DONE is needed no more.
func (m *model) spent(br *broker, i uint8) bool {
	r := m.now.done[i].request
	q := &br.request[r]
	switch {
	case br.free.has(i), br.gone.has(r):
		return true
	case !m.sc.Rules.PurgeAfterReq && (q.job == clearing || q.job == deleting):
		return true
	case r < br.seenReq:
		return false
	}
	return !m.sc.Rules.AskUnknown || !m.now.req.has(r)
}
