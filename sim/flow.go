package sim

// flow is a fluid that several members share by weight for as long as they have
// something waiting: what an ideal scheduler would give each. It advances with
// what the real one gives, while at least two have something waiting; alone,
// everybody has everything.
type flow struct {
	level      float64 // tokens for each unit of weight, so far
	weight     float64 // of the members that wait
	backlogged int     // members that wait
	serves     int     // requests served while others waited
}

// member is a class or a tenant in its flow.
type member struct {
	weight  float64
	waiting int     // requests
	since   float64 // level when it began to wait
	due     float64 // tokens that it was entitled to
	served  float64 // tokens that it was handed meanwhile
}

// join counts a request that begins to wait.
func (f *flow) join(m *member) {
	if m.waiting == 0 {
		m.since = f.level
		f.weight += m.weight
		f.backlogged++
	}
	m.waiting++
}

// leave counts one that waits no more.
func (f *flow) leave(m *member) {
	m.waiting--
	if m.waiting > 0 {
		return
	}
	m.due += m.weight * (f.level - m.since)
	f.weight -= m.weight
	if f.backlogged--; f.backlogged == 0 {
		f.weight = 0 // without what rounding left
	}
}

// serve gives a member that waits so many tokens, and reports whether that counts.
func (f *flow) serve(m *member, tokens float64) bool {
	if f.backlogged < 2 {
		return false
	}
	f.serves++
	f.level += tokens / f.weight
	m.served += tokens
	return true
}

// correct changes what a member was given, by tokens of either sign: it turned out
// to be more or less.
func (f *flow) correct(m *member, tokens float64) {
	m.served += tokens
	if f.backlogged > 1 {
		f.level += tokens / f.weight
	}
}

// entitled is what a member was entitled to by now.
func (f *flow) entitled(m *member) float64 {
	due := m.due
	if m.waiting > 0 {
		due += m.weight * (f.level - m.since)
	}
	return max(0, due) // a correction may be about what was before it waited
}
