package drr

// keep is how many flows, and how many lanes, are kept for use by others; a burst of more leaves no memory behind.
const keep = 1024

// spares are the flows and exact lanes not in use.
type spares struct {
	flows  *flow
	lanes  *lane
	nFlows int
	nLanes int
}

func (s *spares) flow() *flow {
	f := s.flows
	if f == nil {
		return new(flow)
	}
	s.flows, f.spare = f.spare, nil
	s.nFlows--
	return f
}

func (s *spares) keepFlow(f *flow) {
	if s.nFlows < keep {
		f.spare, s.flows = s.flows, f
		s.nFlows++
	}
}

func (s *spares) lane() *lane {
	l := s.lanes
	if l == nil {
		return newLane()
	}
	s.lanes, l.sibling = l.sibling, nil
	s.nLanes--
	return l
}

func (s *spares) keepLane(l *lane) {
	if l.flow = nil; s.nLanes < keep {
		l.sibling, s.lanes = s.lanes, l
		s.nLanes++
	}
}
