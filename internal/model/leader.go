package model

// lead takes the steps of a broker that decides, whether or not it still leads.
func (m *model) lead(b uint8) {
	m.arrive(b)
	m.consume(b)
	m.purge(b)
	m.dropClaims(b)
	for r := range uint8(m.sc.Requests) {
		q := &m.now.broker[b].request[r]
		m.askCancel(b, r)
		switch q.state {
		case queued:
			m.decide(b, r)
			m.judgeLate(b, r)
		case placing:
			m.storeClaim(b, r)
		case retrying:
			m.storeClaimAgain(b, r)
		case stored:
			m.handedOut(b, r)
		case running:
			m.hearFirst(b, r)
			m.checkClaim(b, r)
		case judged:
			m.sendVerdict(b, r)
		case sentenced:
			m.storeVerdict(b, r)
		}
		if q.is(losing) && (m.atEnd(b) || !m.sc.Rules.Barrier) {
			m.begin()
			m.decideLoss(b, r)
			m.take(decideLoss, b, r, q.incarnation)
		}
		m.carryOut(b, r)
	}
}

// workers are lost, rightly or not, and come back. That a worker has started
// anew is heard also during recovery.
func (m *model) workers(b uint8) {
	for i := range m.now.incarnations {
		br := &m.now.broker[b]
		alive := m.now.alive.has(i)
		switch {
		case br.lost.has(i) && alive:
			n := m.begin()
			n.broker[b].lost = br.lost.without(i)
			m.take(hearAgain, b, 0, i)
		case !br.lost.has(i) && !alive:
			m.begin()
			m.lose(b, i, lose)
		case !br.lost.has(i) && br.uses(i):
			if n := m.can(Suspicion); n != nil {
				m.lose(b, i, suspect)
			}
		}
	}
}

// uses reports whether the broker has given an incarnation anything.
func (b *broker) uses(incarnation uint8) bool {
	for r := range b.request {
		if q := &b.request[r]; q.booked() && q.incarnation == incarnation {
			return true
		}
	}
	return false
}

func (m *model) lose(b, incarnation uint8, a act) {
	br := &m.next.broker[b]
	br.lost = br.lost.with(incarnation)
	for k := range m.next.messages {
		if br.left.has(k) && m.next.work[k].incarnation == incarnation {
			br.drop, br.left = br.drop.with(k), br.left.without(k)
		}
	}
	for r := range br.request {
		if q := &br.request[r]; q.booked() && q.incarnation == incarnation {
			q.flags |= losing
		}
	}
	m.take(a, b, 0, incarnation)
}

// decideLoss decides about an attempt whose worker is gone.
func (m *model) decideLoss(b, r uint8) {
	br := &m.next.broker[b]
	q := &br.request[r]
	q.flags &^= losing
	switch {
	case q.state.placed():
		q.flags |= orphaned // decided when its claim is known to be stored
	case q.state == running:
		m.lostAttempt(b, r)
	case m.sc.Rules.LostIsDropped:
		q.flags |= orphaned // should it finish after all, its agent is not waited for
	}
}

// lostAttempt decides whether a request runs again whose worker was lost.
func (m *model) lostAttempt(b, r uint8) {
	q := &m.next.broker[b].request[r]
	claim := &m.next.work[q.claim-1]
	if q.is(resumed) || claim.is(ran) || !m.sc.Rules.CountStarted {
		q.lost++
	}
	heard := q.is(first)
	q.older |= q.own()
	q.unbook()
	switch {
	case heard && !m.sc.Retry && m.sc.Rules.NoRerunAfterHear:
		q.judge(workerLost)
	case q.lost >= m.sc.Attempts:
		m.breaks(Untried, m.next.leaders == 1 && m.next.started(r) < m.sc.Attempts)
		q.judge(exhausted)
	default:
		m.putBack(b, r)
	}
}

// started counts the attempts of a request that an engine had.
func (w *world) started(r uint8) (n uint8) {
	for k := range w.messages {
		if c := &w.work[k]; c.request == r && c.claim() && c.is(ran) {
			n++
		}
	}
	return n
}

// putBack returns a request to its lane.
func (m *model) putBack(b, r uint8) {
	q := &m.next.broker[b].request[r]
	q.unbook()
	q.state = queued
	if m.next.late.has(r) {
		q.judge(deadline)
	}
}

// arrive reads the next request, and passes over those that are gone.
func (m *model) arrive(b uint8) {
	r := m.now.broker[b].seenReq
	if r >= uint8(m.sc.Requests) || !m.now.published.has(r) || m.now.req&^below(r) == 0 && !m.sc.Rules.ReadToLast {
		return
	}
	n := m.begin()
	br := &n.broker[b]
	br.seenReq++
	if n.req.has(r) {
		br.request[r] = request{state: queued}
	} else {
		br.gone = br.gone.with(r)
		if br.request[r].state == unknown {
			br.request[r] = request{state: over, job: clean}
		}
	}
	m.take(arrive, b, r, 0)
}

// consume takes in the next message of DONE. A hole that this leader did not make
// ends its term. It shows with the next message; and whoever has to read DONE to
// its end must look for it.
func (m *model) consume(b uint8) {
	br := &m.now.broker[b]
	i := br.seenDone
	switch {
	case i == m.now.reports:
	case m.now.done[i].present:
		n := m.begin()
		n.broker[b].seenDone++
		m.hear(b, i)
		m.take(consume, b, n.done[i].request, i)
	case !m.sc.Rules.HoleRecovers:
		m.begin().broker[b].seenDone++
		m.take(overlook, b, m.now.done[i].request, i)
	case m.now.doneAfter(i) || m.sc.Rules.HoleAtBarrier && br.losesAny():
		m.standBy(b, hole, 0)
	}
}

// atEnd reports whether a broker has read DONE to its end, as far as it can tell.
func (m *model) atEnd(b uint8) bool {
	br := &m.now.broker[b]
	return br.seenDone == m.now.reports || !m.sc.Rules.HoleAtBarrier && !m.now.doneAfter(br.seenDone)
}

// doneAfter reports whether DONE holds anything from a message on.
func (w *world) doneAfter(i uint8) bool { return w.inDone()&^below(i) != 0 }

func (b *broker) losesAny() bool { return b.request[0].is(losing) || b.request[1].is(losing) }
