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

// arrive reads the next request.
func (m *model) arrive(b uint8) {
	r := m.now.broker[b].seenReq
	if r >= uint8(m.sc.Requests) || !m.now.published.has(r) {
		return
	}
	n := m.begin()
	br := &n.broker[b]
	br.seenReq++
	br.request[r] = request{state: queued}
	if !n.req.has(r) {
		br.gone = br.gone.with(r)
		br.request[r] = request{state: over, job: clean}
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

// hear is what the arbiter makes of a message of DONE.
func (m *model) hear(b, i uint8) {
	br := &m.next.broker[b]
	d := &m.next.done[i]
	q := &br.request[d.request]
	current := q.booked() && q.attempt == d.attempt && (q.claim == 0 || q.holds(d.claim))
	switch {
	case q.state == unknown && m.sc.Rules.KeepUnknown: // it may be a newer leader's
	case q.state == unknown, q.state == over, q.is(finished):
		br.release(m, one(i))
	case q.state == sentenced, q.state == ending:
		q.kept = q.kept.with(i) // until the verdict has been carried out
	case !d.status.outcome():
		m.handBack(b, i, current)
	case d.status == ok || current || !m.sc.Rules.LateFails:
		m.finish(b, d.request, current)
	default:
		br.outdated(m, i)
	}
}

// release lets go of messages of DONE. One that may be an outcome stays until its
// request is gone.
func (b *broker) release(m *model, done set) { b.free |= m.notFinal(done) }

// outdated: the number of an earlier attempt must outlive its claim until a newer
// claim is stored.
func (b *broker) outdated(m *model, i uint8) {
	q := &b.request[m.next.done[i].request]
	newer := m.next.done[i].attempt > q.attempt // than this broker ever knew: it has been deposed
	switch {
	case newer && m.sc.Rules.KeepUnknown:
	case q.state == running:
		b.release(m, one(i))
	default:
		q.kept = q.kept.with(i)
	}
}

// handBack puts a request back that its worker could not serve, or was told to
// stop.
func (m *model) handBack(b, i uint8, current bool) {
	br := &m.next.broker[b]
	r := m.next.done[i].request
	q := &br.request[r]
	switch {
	case !current:
		br.outdated(m, i)
		return
	case q.state.placed():
		q.flags |= handed // goes back when its claim is known to be stored
		return
	case q.state == running:
		br.leave(q)
		m.giveBack(b, r)
	}
	br.keep(m, q, one(i))
}

// keep keeps messages of DONE that gave a request back until its next claim is
// stored: they carry its attempt number.
func (b *broker) keep(m *model, q *request, done set) {
	if m.sc.Rules.KeepReturned {
		q.kept |= done
	} else {
		b.release(m, done)
	}
}

// giveBack ends an attempt that its worker did not want.
func (m *model) giveBack(b, r uint8) {
	q := &m.next.broker[b].request[r]
	if q.is(first) && !m.sc.Retry && m.sc.Rules.NoRerunReturned {
		q.unbook()
		q.judge(workerLost)
		return
	}
	m.putBack(b, r)
}

// finish ends a request that has an outcome in DONE.
func (m *model) finish(b, r uint8, current bool) {
	q := &m.next.broker[b].request[r]
	claims := q.older
	if !current {
		claims |= q.own()
	}
	q.begin(clearing, claims)
	if q.state.placed() {
		q.flags |= finished
		if current {
			q.flags |= won
		}
		return
	}
	if current {
		m.next.broker[b].leave(q)
	}
	q.state, q.reason = over, 0
	q.unbook()
}

// leave leaves a claim to its agent, which acknowledges it; unless that is lost.
func (b *broker) leave(q *request) {
	if q.is(losing) || q.is(orphaned) {
		b.drop |= q.own()
	} else {
		b.left |= q.own()
	}
}
