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

// serve gives a member that waits so many tokens.
func (f *flow) serve(m *member, tokens float64) {
	if f.backlogged > 1 {
		f.serves++
		f.level += tokens / f.weight
		m.served += tokens
	}
}

// entitled is what a member was entitled to by now.
func (f *flow) entitled(m *member) float64 {
	if m.waiting > 0 {
		return m.due + m.weight*(f.level-m.since)
	}
	return m.due
}
