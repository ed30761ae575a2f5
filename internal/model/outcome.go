package model

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
