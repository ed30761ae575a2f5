package model

// decide picks a worker for a request: any that does not count as lost.
func (m *model) decide(b, r uint8) {
	for i := range m.now.incarnations {
		if m.now.broker[b].lost.has(i) || m.alike(i) {
			continue
		}
		n := m.begin()
		q := &n.broker[b].request[r]
		q.state, q.incarnation, q.claim = placing, i, 0
		if m.sc.Rules.AttemptsRise || q.attempt == 0 {
			q.attempt++
		}
		if !m.sc.Rules.NewClaimFirst {
			n.remove(q.older)
		}
		m.take(decide, b, r, i)
	}
}

// alike reports whether a lower incarnation would do as well: neither has ever
// had anything to do.
func (m *model) alike(i uint8) bool {
	return i > 0 && int(i) < m.sc.Agents && m.untouched(i) && m.untouched(i-1)
}

func (m *model) untouched(i uint8) bool {
	if !m.now.alive.has(i) || m.busy(i) {
		return false
	}
	for k := range m.now.messages {
		if c := &m.now.work[k]; c.claim() && c.incarnation == i {
			return false
		}
	}
	for b := range m.now.broker {
		if m.now.broker[b].lost.has(i) || m.now.broker[b].uses(i) {
			return false
		}
	}
	return true
}

// storeClaim publishes a claim, on the condition of the guards.
func (m *model) storeClaim(b, r uint8) {
	if m.refused(b, m.sc.Rules.FenceClaims) {
		m.standBy(b, claimRefused, r)
		return
	}
	q := &m.now.broker[b].request[r]
	if !m.sc.Rules.EpochInDedupID && m.now.used[r].has(q.attempt) {
		m.begin().broker[b].request[r].state = stored // the store says that it has it already
		m.take(claimDuplicate, b, r, q.attempt)
		return
	}
	m.appendClaim(m.begin(), b, r, stored)
	if n := m.can(LostAnswer); n != nil {
		m.appendClaim(n, b, r, retrying)
	}
}

// refused reports whether the store refuses what a broker writes fenced.
func (m *model) refused(b uint8, fenced bool) bool { return fenced && !m.now.holds(b) }

func (m *model) appendClaim(n *world, b, r uint8, to state) {
	if n.messages == maxMessages {
		m.capped = true
		return
	}
	q := &n.broker[b].request[r]
	m.judgeClaim(b, r)
	c := message{request: r, attempt: q.attempt, incarnation: q.incarnation, lost: q.lost, flags: present}
	if n.answered.has(r) {
		c.flags |= tooLate
	}
	if n.used[r].has(q.attempt) {
		c.flags |= duplicate
	}
	if !n.alive.has(c.incarnation) {
		c.phase = dead
	}
	n.work[n.messages] = c
	for other := range n.broker {
		if uint8(other) != b && n.broker[other].role != standby {
			n.broker[other].newer = n.broker[other].newer.with(n.messages)
		}
	}
	n.messages++
	n.used[r] = n.used[r].with(q.attempt)
	q.state = to
	attempt := q.attempt
	if to == stored && m.sc.Prompt {
		m.learnStored(b, r)
	}
	a := claimStored
	if to == retrying {
		a = claimUnsure
	}
	m.take(a, b, r, attempt)
}

// judgeClaim holds a claim that is being stored against the promises.
func (m *model) judgeClaim(b, r uint8) {
	n := &m.next
	q := &n.broker[b].request[r]
	m.breaks(StaleWrite, !n.alone(b))
	m.breaks(AttemptReused, n.used[r].has(q.attempt))
	m.breaks(Doubled, n.claimsOf(r)&^(q.older|q.clear|n.broker[b].drop|n.broker[b].left) != 0)
	m.breaks(AfterOutcome, n.decided.has(r) || n.answered.has(r) && !m.had(Suspicion))
	m.breaks(AfterFirst, q.is(first) && !m.sc.Retry)
}

// storeClaimAgain sends the same message again. The store knows it by its id,
// unless it has forgotten that: it may when the claim has been acknowledged.
func (m *model) storeClaimAgain(b, r uint8) {
	k := m.now.stored(&m.now.broker[b].request[r], r)
	n := m.begin()
	n.broker[b].request[r].state = stored
	m.take(claimAgain, b, r, n.broker[b].request[r].attempt)
	if m.now.work[k].is(present) {
		return
	}
	if n := m.can(ForgetIDs); n != nil {
		if m.refused(b, m.sc.Rules.FenceClaims) {
			n.broker[b] = broker{}
			m.take(claimRefused, b, r, 0)
			return
		}
		m.appendClaim(n, b, r, stored)
	}
}

// stored is where the claim of a request's present attempt was stored last.
func (w *world) stored(q *request, r uint8) (at uint8) {
	for k := range w.messages {
		if c := &w.work[k]; c.claim() && c.request == r && c.attempt == q.attempt {
			at = k
		}
	}
	return at
}

// handedOut learns that a claim is stored.
func (m *model) handedOut(b, r uint8) {
	n := m.begin()
	k := n.stored(&n.broker[b].request[r], r)
	m.learnStored(b, r)
	m.take(handedOut, b, r, k)
}

func (m *model) learnStored(b, r uint8) {
	n := &m.next
	br := &n.broker[b]
	q := &br.request[r]
	q.claim = n.stored(q, r) + 1
	br.dropOlder(m, q)
	m.settlePlaced(b, r)
}

// dropOlder lets go of what a newer claim has made superfluous.
func (b *broker) dropOlder(m *model, q *request) {
	b.drop |= q.older
	b.release(m, q.kept)
	q.older, q.kept = 0, 0
}

// settlePlaced makes up for what happened while the claim was being stored.
func (m *model) settlePlaced(b, r uint8) {
	br := &m.next.broker[b]
	q := &br.request[r]
	if q.is(handed) {
		br.keep(m, q, m.reportsOf(r, q.attempt))
	}
	switch {
	case q.is(finished):
		if q.is(won) {
			br.leave(q)
		} else {
			br.drop |= q.own()
		}
		q.state, q.reason = over, 0
		q.unbook()
	case q.reason == cancelled:
		m.judgeCancel(b, r)
	case q.is(handed):
		q.state = running
		br.leave(q)
		m.giveBack(b, r)
	case q.is(orphaned):
		q.state = running
		m.lostAttempt(b, r)
	default:
		q.state = running
	}
}

// reportsOf are the messages of DONE about one attempt.
func (m *model) reportsOf(r, attempt uint8) (s set) {
	for i := range m.next.reports {
		if d := &m.next.done[i]; d.present && d.request == r && d.attempt == attempt {
			s = s.with(i)
		}
	}
	return s
}

// hearFirst: a heartbeat says that the present attempt has sent its first token.
func (m *model) hearFirst(b, r uint8) {
	q := &m.now.broker[b].request[r]
	c := &m.now.work[q.claim-1]
	if !m.sc.Tokens || q.is(first) || c.phase != answering {
		return
	}
	m.begin().broker[b].request[r].flags |= first
	m.take(hearFirst, b, r, q.claim-1)
}

// checkClaim: a live worker does not list a claim. When that is not in WORK
// either, and DONE says nothing of it, what this broker knows is wrong.
func (m *model) checkClaim(b, r uint8) {
	br := &m.now.broker[b]
	q := &br.request[r]
	c := &m.now.work[q.claim-1]
	if !m.sc.Rules.CheckClaim || m.now.doneAfter(br.seenDone) || c.is(present) || c.phase.active() || q.is(losing) || !m.now.alive.has(q.incarnation) {
		return
	}
	m.standBy(b, missingClaim, r)
}
