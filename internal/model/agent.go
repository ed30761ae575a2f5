package model

// agent takes the steps of a claim at its agent: pull, read the payload, run,
// final message, DONE, acknowledgement.
func (m *model) agent(k uint8) {
	c := &m.now.work[k]
	if !c.claim() || !m.now.alive.has(c.incarnation) {
		return
	}
	switch c.phase {
	case waiting:
		m.pull(k)
	case pulled:
		m.fetch(k)
	case executing, answering:
		m.run(k)
	case saidOK:
		m.report(k, ok)
	case saidFailed:
		m.report(k, failed)
	case stopped:
		m.report(k, wasCancelled)
	case notThere:
		m.report(k, wasGone)
	case givingBack:
		m.report(k, returned)
	case unsure:
		m.reportAgain(k)
	case unsaid:
		m.move(k, reported, final, func() { m.tell(c.request, result(c.attempt)) })
	case reported:
		n := m.move(k, settled, nothing, nil)
		n.remove(one(k))
		m.take(ack, 0, c.request, k)
	}
	m.stop(k)
}

// move starts a step that brings a claim to another phase; with an act it is
// taken at once.
func (m *model) move(k uint8, to phase, a act, also func()) *world {
	n := m.begin()
	n.work[k].phase = to
	if also != nil {
		also()
	}
	if a != nothing {
		m.take(a, 0, n.work[k].request, k)
	}
	return n
}

func (m *model) pull(k uint8) {
	switch {
	case !m.now.work[k].is(present):
	case m.sc.Coarse:
		m.fetch(k)
	default:
		m.move(k, pulled, pull, nil)
	}
}

// fetch reads the payload. That there is none is believed of the leader only.
func (m *model) fetch(k uint8) {
	c := &m.now.work[k]
	if m.now.req.has(c.request) {
		m.execute(m.begin(), k, fetch)
		return
	}
	m.move(k, notThere, fetchGone, func() {
		if !m.sc.Rules.GoneIsSilent {
			m.tell(c.request, toldFailed)
			m.breaks(FalseAlarm, m.now.heard[c.request] != 0)
		}
	})
	if n := m.can(StalePayload); n != nil {
		m.execute(n, k, fetchStale)
	}
}

func (m *model) execute(n *world, k uint8, a act) {
	c := &n.work[k]
	m.breaks(RanAgain, c.is(tooLate) && !m.had(StalePayload) && !m.had(Suspicion))
	m.breaks(SameAttempt, c.is(duplicate))
	c.phase = executing
	c.flags |= ran
	m.take(a, 0, c.request, k)
}

// run is what the engine does.
func (m *model) run(k uint8) {
	c := &m.now.work[k]
	if c.phase == executing && m.sc.Tokens {
		m.move(k, answering, token, func() { m.show(c.request, c.attempt) })
	} else {
		m.finishRun(k)
	}
	if n := m.can(EngineFails); n != nil {
		n.work[k].phase = saidFailed
		m.tell(c.request, toldFailed)
		m.take(engineFails, 0, c.request, k)
	}
	if n := m.can(GiveBack); n != nil && c.phase == executing {
		n.work[k].phase = givingBack
		m.take(engineBusy, 0, c.request, k)
	}
	if m.now.late.has(c.request) {
		m.move(k, saidFailed, runLate, func() { m.tell(c.request, toldDeadline) })
	}
}

func (m *model) finishRun(k uint8) {
	c := &m.now.work[k]
	if !m.sc.Rules.FinalBeforeDone {
		m.store(m.begin(), k, ok, unsaid)
		return
	}
	if m.safe() {
		m.begin()
		m.tell(c.request, result(c.attempt))
		m.store(&m.next, k, ok, reported)
		if n := m.can(LostAnswer); n != nil {
			m.tell(c.request, result(c.attempt))
			m.store(n, k, ok, unsure)
		}
		return
	}
	m.move(k, saidOK, final, func() { m.tell(c.request, result(c.attempt)) })
}

// safe reports whether no agent can crash any more. Then nothing can come between
// a final message and its DONE that anybody would notice, and they are one step.
func (m *model) safe() bool {
	return (m.now.left[AgentCrash] == 0 || m.now.total == 0) && m.sc.Rules.DoneBeforeAck
}

// report stores DONE, then the claim is acknowledged.
func (m *model) report(k uint8, s status) {
	c := &m.now.work[k]
	if !m.sc.Rules.DoneBeforeAck {
		if c.is(present) {
			n := m.begin()
			n.remove(one(k))
			m.take(ack, 0, c.request, k)
		} else {
			m.store(m.begin(), k, s, settled)
		}
		return
	}
	m.store(m.begin(), k, s, reported)
	if n := m.can(LostAnswer); n != nil {
		m.store(n, k, s, unsure)
	}
}

// store appends to DONE.
func (m *model) store(n *world, k uint8, s status, to phase) {
	if n.reports == maxReports {
		m.capped = true
		return
	}
	c := &n.work[k]
	n.done[n.reports] = report{request: c.request, attempt: c.attempt, claim: k, lost: c.lost, status: s, present: true}
	n.reports++
	if s.outcome() {
		n.answered = n.answered.with(c.request)
	}
	c.phase = to
	a := reportAct[s]
	if to == unsure {
		a = doneUnsure
	}
	m.take(a, 0, c.request, k)
}

// reportAgain repeats a DONE whose answer was lost. The store knows it by its id,
// unless it has forgotten that.
func (m *model) reportAgain(k uint8) {
	m.move(k, reported, doneAgain, nil)
	n := m.can(ForgetIDs)
	if n == nil {
		return
	}
	for i := range n.reports {
		if n.done[i].claim == k {
			m.store(n, k, n.done[i].status, reported)
			return
		}
	}
}

// stop is a broker's command, by verdict or because it does not know the claim
// for this worker's any more. Deposed brokers are obeyed too, as the agent may not
// have heard of the newer one; unless it is that one's claim.
func (m *model) stop(k uint8) {
	c := &m.now.work[k]
	if c.phase != pulled && c.phase != executing && c.phase != answering {
		return
	}
	for b := range m.now.broker {
		br := &m.now.broker[b]
		if br.unwanted(c, k) && !(m.sc.Rules.OwnEpochOnly && br.newer.has(k)) {
			m.move(k, stopped, told, nil)
			return
		}
	}
}

// unwanted reports whether a broker takes a claim for one that nobody should run.
func (b *broker) unwanted(c *message, k uint8) bool {
	q := &b.request[c.request]
	switch {
	case b.role != leading || q.state == unknown:
		return false
	case q.state.placed() && !q.is(finished):
		return q.attempt != c.attempt
	case q.state == ending || q.state == over:
		return true
	}
	return !q.holds(k)
}
