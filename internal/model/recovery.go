package model

// brokers takes the steps of one broker.
func (m *model) brokers(b uint8) {
	br := &m.now.broker[b]
	if br.role == standby {
		m.takeOver(b)
		return
	}
	if n := m.can(BrokerCrash); n != nil {
		n.broker[b] = broker{}
		m.take(brokerCrash, b, 0, 0)
	}
	if !m.now.holds(b) && (br.role == leading || m.sc.Rules.GuardsFirst) {
		m.standBy(b, stepDown, 0)
	}
	m.workers(b)
	switch br.role {
	case leading:
		m.lead(b)
	case guarding:
		m.guardLate(b)
	default:
		m.read(b)
	}
}

// standBy is a broker's end as leader: it forgets everything.
func (m *model) standBy(b uint8, a act, r uint8) {
	n := m.begin()
	n.broker[b] = broker{}
	m.take(a, b, r, 0)
}

// takeOver writes the guards: because nobody leads, or for no good reason.
func (m *model) takeOver(b uint8) {
	n := m.begin()
	if m.now.leader() >= 0 {
		n = m.can(TakeOver)
	}
	if n == nil {
		return
	}
	n.broker[b] = broker{role: reading1}
	n.leaders = min(n.leaders+1, 2)
	if m.sc.Rules.GuardsFirst {
		m.writeGuards(b)
	}
	m.take(takeOver, b, 0, 0)
}

// writeGuards fences every older leader; unless the stream has been made anew, and
// the guards have the sequences of older ones.
func (m *model) writeGuards(b uint8) {
	n := &m.next
	for other := range n.broker {
		br := &n.broker[other]
		if br.guards == guardsRepeat {
			br.guards = guardsStand
		} else {
			br.guards = noGuards
		}
	}
	n.broker[b].guards = guardsStand
}

func (m *model) guardLate(b uint8) {
	m.begin()
	m.writeGuards(b)
	m.recovered(b)
	m.take(guardsLate, b, 0, 0)
}

// read is one read of recovery.
func (m *model) read(b uint8) {
	step := m.now.broker[b].role - reading1
	switch m.sc.Rules.Order[step] {
	case 'W':
		m.readWork(b)
	case 'D':
		m.readDone(b)
	case 'R':
		m.readReq(b)
	}
}

// lagging starts a read from a replica that is behind.
func (m *model) lagging() *world {
	if m.sc.Rules.CompleteReads {
		return nil
	}
	return m.can(LaggingRead)
}

func (m *model) readWork(b uint8) {
	n := m.begin()
	n.broker[b].snapWork = n.inWork()
	m.afterRead(b, readWork, uint8(n.inWork()))
	if n := m.lagging(); n != nil && n.inWork() != 0 {
		n.broker[b].snapWork = n.inWork().minusLast()
		m.afterRead(b, readLagging, uint8(n.broker[b].snapWork))
	}
}

func (m *model) readDone(b uint8) {
	n := m.begin()
	n.broker[b].snapDone, n.broker[b].seenDone = n.inDone(), n.reports
	m.afterRead(b, readDone, uint8(n.inDone()))
	if n := m.lagging(); n != nil && n.inDone() != 0 {
		last, _ := n.inDone().last()
		n.broker[b].snapDone, n.broker[b].seenDone = n.inDone().minusLast(), last
		m.afterRead(b, readLagging, uint8(n.broker[b].snapDone))
	}
}

func (m *model) readReq(b uint8) {
	n := m.begin()
	n.broker[b].readReq(n.req, m.lastReq(n))
	m.afterRead(b, readReq, uint8(n.req))
	if n := m.lagging(); n != nil && n.req != n.published { // deletions are what it misses
		n.broker[b].readReq(n.published, m.lastReq(n))
		m.afterRead(b, readLagging, uint8(n.published))
	}
}

func (b *broker) readReq(answer, known set) {
	b.snapReq = answer
	for b.seenReq < maxRequests && known&^below(b.seenReq) != 0 {
		b.seenReq++
	}
}

// lastReq is what a broker knows of when it has read REQ: all up to the last that
// the stream's leader reports, or only up to the last that is still there.
func (m *model) lastReq(w *world) set {
	if m.sc.Rules.ReadToLast {
		return w.published
	}
	return w.req
}

func (m *model) afterRead(b uint8, a act, what uint8) {
	br := &m.next.broker[b]
	br.role++
	if br.role == guarding {
		if m.sc.Rules.GuardsFirst {
			m.recovered(b)
		}
	}
	m.take(a, b, 0, what)
}

// recovered puts every request where its predecessor left it.
func (m *model) recovered(b uint8) {
	n := &m.next
	br := &n.broker[b]
	br.role = leading
	for r := range uint8(m.sc.Requests) {
		f := m.find(br, r)
		switch {
		case br.snapReq.has(r):
			m.resume(b, r, f)
		case r < br.seenReq:
			br.gone = br.gone.with(r)
			m.cleanUp(br, r, f)
		case f.claims|f.done|f.verdictAt != 0: // nobody told this broker that it ever was
			m.cleanUp(br, r, f)
		}
	}
	br.snapWork, br.snapDone, br.snapReq = 0, 0, 0
}

// finding is what WORK and DONE say of one request.
type finding struct {
	claims, done set
	last         uint8 // claim of the highest attempt
	highest      uint8 // attempt in claims and DONE
	back         uint8 // highest attempt that was given back
	lost         uint8
	verdict      reason
	verdictAt    set
	result       bool  // an outcome that is one whatever follows
	failedAt     uint8 // highest attempt that failed
}

func (m *model) find(br *broker, r uint8) (f finding) {
	for k := range m.next.messages {
		c := &m.next.work[k]
		if br.snapWork.has(k) && c.request == r {
			f.message(c, k, m.sc.Rules.HighestClaim)
		}
	}
	for i := range m.next.reports {
		if d := &m.next.done[i]; br.snapDone.has(i) && d.request == r {
			f.done = f.done.with(i)
			f.report(d, m.sc.Rules.HighestClaim)
		}
	}
	return f
}

func (f *finding) message(c *message, k uint8, highest bool) {
	if c.verdict != 0 {
		f.verdict, f.verdictAt = c.verdict, one(k)
		return
	}
	if f.claims == 0 || highest {
		f.last = k
		f.learn(c.attempt, c.lost)
	}
	f.claims = f.claims.with(k)
}

func (f *finding) report(d *report, highest bool) {
	switch {
	case !d.status.outcome():
		f.back = max(f.back, d.attempt)
	case d.status == ok:
		f.result = true
	default:
		f.failedAt = max(f.failedAt, d.attempt)
	}
	if highest || f.claims == 0 {
		f.learn(d.attempt, d.lost)
	}
}

func (f *finding) learn(attempt, lost uint8) {
	if attempt >= f.highest {
		f.highest, f.lost = attempt, max(f.lost, lost)
	}
}

// ended reports whether the request has its outcome: a failure is one only when
// no later attempt was handed out.
func (f *finding) ended() bool {
	return f.result || f.failedAt != 0 && f.failedAt >= f.highest
}

// running reports whether the highest attempt has a claim and was not given back.
func (f *finding) running(w *world) bool {
	return f.claims != 0 && w.work[f.last].attempt == f.highest && f.back < f.highest
}

// resume: a verdict outranks everything, then an outcome; else the highest
// attempt is the present one.
func (m *model) resume(b, r uint8, f finding) {
	br := &m.next.broker[b]
	q := &br.request[r]
	*q = request{state: queued, attempt: f.highest, lost: f.lost, older: f.claims, kept: f.done}
	switch {
	case f.verdict != 0:
		q.state, q.reason = ending, f.verdict
		q.begin(f.verdict.firstJob(), q.older)
	case f.ended():
		q.state = over
		q.begin(clearing, q.older)
	case f.running(&m.next):
		q.state, q.claim, q.incarnation = running, f.last+1, m.next.work[f.last].incarnation
		q.flags |= resumed
		q.older = q.older.without(f.last)
		br.dropOlder(m, q)
		m.resumeLost(b, r)
	}
}

// resumeLost deals with a claim whose worker is known to have started anew. What
// that last wrote to DONE may have been stored after recovery read it.
func (m *model) resumeLost(b, r uint8) {
	br := &m.next.broker[b]
	q := &br.request[r]
	if !br.lost.has(q.incarnation) {
		return
	}
	q.flags |= losing
	if !m.sc.Rules.RecoveryBarrier {
		m.decideLoss(b, r)
	}
}

// cleanUp ends what is left of a request that is not in REQ any more.
func (m *model) cleanUp(br *broker, r uint8, f finding) {
	q := &br.request[r]
	*q = request{state: over, job: clean}
	if m.sc.Rules.DeleteOrphans {
		br.drop |= f.claims
	}
	br.free |= m.notFinal(f.done)
	if f.verdict != 0 {
		q.state, q.reason = ending, f.verdict
		q.begin(f.verdict.firstJob(), 0)
	}
}

// notFinal are those messages of DONE that may go whatever becomes of the request.
func (m *model) notFinal(done set) (s set) {
	for i := range m.next.reports {
		if done.has(i) && !m.next.done[i].status.final() {
			s = s.with(i)
		}
	}
	return s
}
