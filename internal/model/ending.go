package model

// askCancel ends a request because its client asks. It is answered once the
// verdict is stored.
func (m *model) askCancel(b, r uint8) {
	q := &m.now.broker[b].request[r]
	if q.is(finished) || q.reason == cancelled || q.state != queued && q.state != running && !q.state.placed() {
		return
	}
	n := m.can(Cancel)
	if n == nil {
		return
	}
	n.cancelled = n.cancelled.with(r)
	if q.state.placed() {
		n.broker[b].request[r].reason = cancelled
	} else {
		m.judgeCancel(b, r)
	}
	m.take(cancelAsked, b, r, 0)
}

func (m *model) judgeCancel(b, r uint8) {
	m.next.broker[b].request[r].judge(cancelled)
	if !m.sc.Rules.StoreVerdict {
		m.next.found = m.next.found.with(r)
	}
}

// judgeLate ends a request whose deadline passed while it waited.
func (m *model) judgeLate(b, r uint8) {
	if !m.now.late.has(r) {
		return
	}
	m.begin().broker[b].request[r].judge(deadline)
	m.take(judgeLate, b, r, 0)
}

// sendVerdict: from here on a DONE comes too late.
func (m *model) sendVerdict(b, r uint8) {
	n := m.begin()
	q := &n.broker[b].request[r]
	if m.sc.Rules.StoreVerdict {
		q.state = sentenced
	} else {
		m.execution(b, r)
	}
	m.take(sendVerdict, b, r, uint8(q.reason))
}

// storeVerdict publishes a verdict, on the condition of the guards.
func (m *model) storeVerdict(b, r uint8) {
	if m.refused(b, m.sc.Rules.FenceVerdict) {
		m.standBy(b, verdictRefused, r)
		return
	}
	n := m.begin()
	if n.messages == maxMessages {
		m.capped = true
		return
	}
	q := &n.broker[b].request[r]
	m.breaks(StaleWrite, !n.alone(b))
	m.breaks(AfterOutcome, n.answered.has(r) && q.reason != cancelled && !m.had(Suspicion))
	m.breaks(FalseLoss, q.reason == workerLost && !m.had(AgentCrash) && !m.had(Suspicion))
	n.work[n.messages] = message{request: r, verdict: q.reason, flags: present, phase: settled}
	n.messages++
	n.decided = n.decided.with(r)
	if q.reason == cancelled {
		n.found = n.found.with(r)
	}
	m.execution(b, r)
	m.take(verdictStored, b, r, uint8(q.reason))
}

// execution begins to carry out a verdict.
func (m *model) execution(b, r uint8) {
	q := &m.next.broker[b].request[r]
	q.state = ending
	q.begin(q.reason.firstJob(), q.older|q.own())
	if !m.sc.Rules.TellBeforeDelete {
		q.job = clearing
	}
}

func (r reason) firstJob() job {
	if r == exhausted {
		return burying
	}
	return telling
}

// carryOut takes the next step of what ends a request, whoever leads by now:
// what is stored, or in DONE, cannot be undone.
func (m *model) carryOut(b, r uint8) {
	q := &m.now.broker[b].request[r]
	switch q.job {
	case burying:
		m.bury(b, r)
	case telling:
		m.tellVerdict(b, r)
	case clearing:
		m.clearClaims(b, r)
	case deleting:
		m.deleteRequest(b, r)
	case unsaying:
		n := m.begin()
		n.remove(n.verdictsOf(r))
		n.broker[b].end(m, r)
		m.take(unsay, b, r, 0)
	}
}

// bury copies the request to DEAD, if REQ still has it; the id that it gets there
// makes it the only copy.
func (m *model) bury(b, r uint8) {
	n := m.begin()
	if n.req.has(r) && n.buried[r] == 0 {
		n.buried[r]++
	}
	n.broker[b].request[r].job = telling
	m.take(bury, b, r, 0)
	if n := m.can(ForgetIDs); n != nil && n.req.has(r) && n.buried[r] > 0 {
		n.buried[r]++
		n.broker[b].request[r].job = telling
		m.breaks(BuriedTwice, true)
		m.take(bury, b, r, 1)
	}
}

func (m *model) tellVerdict(b, r uint8) {
	n := m.begin()
	q := &n.broker[b].request[r]
	m.breaks(StaleWord, !n.holds(b) && !n.decided.has(r))
	m.tell(r, q.reason.told())
	q.job = clearing
	if !m.sc.Rules.TellBeforeDelete {
		q.job = unsaying
	}
	m.take(tellClient, b, r, q.reason.told())
}

func (m *model) clearClaims(b, r uint8) {
	n := m.begin()
	q := &n.broker[b].request[r]
	if m.sc.Rules.DropLeftovers {
		n.remove(q.clear)
	}
	if !m.sc.Rules.VerdictLast {
		n.remove(n.verdictsOf(r))
	}
	q.clear = 0
	q.job = deleting
	if !m.sc.Rules.ClaimsBeforeReq && !n.req.has(r) {
		n.broker[b].deleted(m, r)
	}
	m.take(clearClaims, b, r, 0)
}

func (m *model) deleteRequest(b, r uint8) {
	if r >= m.now.broker[b].seenReq {
		return // the cleaner waits for what it has not read
	}
	n := m.begin()
	m.breaks(EarlyDelete, n.req.has(r) && !n.answered.has(r) && !n.decided.has(r) && m.sc.Rules.StoreVerdict)
	n.req = n.req.without(r)
	q := &n.broker[b].request[r]
	if !m.sc.Rules.ClaimsBeforeReq && q.clear != 0 {
		q.job = clearing
	} else {
		n.broker[b].deleted(m, r)
	}
	m.take(deleteRequest, b, r, 0)
}

// deleted goes on when REQ no longer holds a request.
func (b *broker) deleted(m *model, r uint8) {
	b.gone = b.gone.with(r)
	q := &b.request[r]
	switch {
	case q.state != ending:
		q.job = clean
	case !m.sc.Rules.TellBeforeDelete:
		q.job = q.reason.firstJob()
	default:
		q.job = unsaying
	}
}

// end forgets a request that the broker has ended.
func (b *broker) end(m *model, r uint8) {
	b.release(m, b.request[r].kept)
	b.request[r] = request{state: over, job: clean}
}

func (w *world) verdictsOf(r uint8) (s set) {
	for k := range w.messages {
		if c := &w.work[k]; c.request == r && c.verdict != 0 && c.is(present) {
			s = s.with(k)
		}
	}
	return s
}
