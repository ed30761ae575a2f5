package drr

// Next takes out the entry to dispatch now and charges its class and tenant, or returns nil and changes no
// credit when nothing is dispatchable. A head that gate refuses is not asked about again until a
// recheck, or until another entry takes its place.
func (s *Scheduler) Next(gate Gate) *Entry {
	if s.recheck {
		s.recheckNow()
	}
	for place := s.ring.first(); place >= 0; place = s.ring.first() {
		c := &s.classes[place]
		f, l := c.candidate()
		if s.ask(gate, c, l) {
			return s.dispatch(c, f, l)
		}
		f.drop(l)
		s.blocked.add(l)
		s.update(f)
	}
	return nil
}

// ask reports whether the head of l can go, without a question when all shared lanes are known to be blocked.
func (s *Scheduler) ask(gate Gate, c *class, l *lane) bool {
	shared := !l.exact()
	if shared && c.closed {
		return false
	}
	answer := gate(int(c.turn.place), l.target, l.head)
	if answer == AllShut && shared {
		c.closed = true
		s.closed = append(s.closed, c)
	}
	return answer == Open
}

// dispatch takes out the head of l, which leads f, a flow of c.
func (s *Scheduler) dispatch(c *class, f *flow, l *lane) *Entry {
	e := l.entries.pop()
	s.leave(f, e)
	s.charged = l.cost
	if l.entries.live > 0 {
		f.relist(l)
	} else {
		f.drop(l)
		s.retire(l)
	}
	f.choose()
	if c.only == nil {
		c.tenants.commit(&f.turn, f.offer())
		s.release(f)
		if c.tenants.round >= farRound {
			c.tenants.rebase(c.members)
		}
	}
	s.ring.commit(&c.turn, c.offer())
	if s.ring.round >= farRound {
		s.ring.rebase(s.members)
	}
	return e
}

// Charged returns the tokens that the last dispatch was charged: the cost of its entry, and the surcharge of its
// class at the time when the entry became the head of its lane.
func (s *Scheduler) Charged() int64 { return s.charged }

// SetSurcharge sets an estimate, in tokens and at least 0, that is charged with every dispatch of class: of the
// output, say, as the cost is of the input. It holds for entries that become the head of their lane from now on.
// Correct it by Charge when the true number is known.
func (s *Scheduler) SetSurcharge(class int, tokens int64) {
	s.classes[class].surcharge = min(max(tokens, 0), limit)
}

// Charge corrects what class and tenant were charged, by tokens: more, or with a negative number less, as when a
// request was put back or failed at placement. Who has nothing queued has no deficit to correct: putting a
// request back takes an Enqueue first, then a Charge.
func (s *Scheduler) Charge(class int, tenant uint32, tokens int64) {
	s.correct(class, tenant, tokens, tokens)
}

// Refund gives class and tenant back what they were charged, like Charge, but lifts the credit of neither above its
// quantum and so many more tokens: who is given back again and again earns on every visit, and must not save that
// up. It returns what each was given.
func (s *Scheduler) Refund(class int, tenant uint32, tokens, most int64) (ofClass, ofTenant int64) {
	c := &s.classes[class]
	ofClass = min(tokens, max(0, c.turn.quantum+most-s.ring.credit(&c.turn)))
	ofTenant = ofClass
	if f := c.flow(tenant); c.Tenants && f != nil {
		ofTenant = min(tokens, max(0, f.turn.quantum+most-c.tenants.credit(&f.turn)))
	}
	s.correct(class, tenant, -ofClass, -ofTenant)
	return ofClass, ofTenant
}

func (s *Scheduler) correct(class int, tenant uint32, ofClass, ofTenant int64) {
	c := &s.classes[class]
	if c.counters.Requests == 0 {
		return
	}
	s.ring.charge(&c.turn, ofClass)
	if f := c.flow(tenant); c.Tenants && f != nil {
		c.tenants.charge(&f.turn, ofTenant)
		s.ring.set(&c.turn, c.offer())
	}
}

// Recheck says that worker may be able to take more: its blocked lanes of every class and rank,
// and the blocked shared lanes, are tested again.
func (s *Scheduler) Recheck(worker int32) {
	s.reopen()
	s.retry(s.blocked.at(-1))
	if worker >= 0 {
		s.retry(s.blocked.at(worker))
	}
}

// RecheckAll says that any worker may be able to take more. The work is put off until Next.
func (s *Scheduler) RecheckAll() { s.recheck = true }

func (s *Scheduler) recheckNow() {
	s.recheck = false
	s.reopen()
	for i := range s.blocked.heads {
		s.retry(i)
	}
}

// reopen lets the shared lanes of every class be tested again.
func (s *Scheduler) reopen() {
	for _, c := range s.closed {
		c.closed = false
		s.ring.set(&c.turn, c.offer())
	}
	clear(s.closed)
	s.closed = s.closed[:0]
}

// retry puts the lanes of list i of blocked ones back into the index, to be tested again.
func (s *Scheduler) retry(i int) {
	for l := s.blocked.first(i); l != nil; l = s.blocked.first(i) {
		s.blocked.remove(l)
		s.list(l)
	}
}
