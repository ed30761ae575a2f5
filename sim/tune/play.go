package tune

import (
	"fmt"
	"math"
	"slices"

	"fairlead/policy"
	"fairlead/sim/whatif"
)

// loss is how much a setting is short of the goals that count, summed up.
func (s *search) loss(at setting) (float64, error) {
	stats, err := s.play(at)
	if err != nil {
		return math.Inf(1), err
	}
	loss := 0.0
	for i, g := range s.Goals {
		if slices.Contains(s.goals, g) {
			loss += g.short(g.value(stats[i]))
		}
	}
	return loss, nil
}

// play returns the figures of all goals with a setting.
func (s *search) play(at setting) ([]whatif.Stat, error) {
	if stats, ok := s.played[at.key()]; ok {
		return stats, nil
	}
	if s.plays >= s.MaxPlays {
		return nil, errPlays
	}
	s.plays++
	if s.Progress != nil {
		s.Progress(s.plays, s.what)
	}
	rows, err := s.run(at, s.Study.Seeds, 0)
	if err != nil {
		return nil, err
	}
	stats := make([]whatif.Stat, len(s.Goals))
	for i, g := range s.Goals {
		stats[i] = rows[i].Stat(g.Metric)
	}
	s.played[at.key()] = stats
	return stats, nil
}

// run plays a setting with seeds from a first one on, and finds the row of each goal.
func (s *search) run(at setting, seeds int, first uint64) ([]*whatif.Row, error) {
	text, err := at.write(s.File, s.Text)
	if err != nil {
		return nil, err
	}
	p, err := policy.Parse(s.File, text)
	if err != nil {
		return nil, err
	}
	study := *s.Study
	study.Policies = []whatif.Policy{{Name: s.File, Policy: p}}
	study.Seeds, study.FirstSeed = seeds, first
	study.Fleet = slices.Clone(study.Fleet)
	if s.Workers {
		study.Fleet[0].Count = at.workers
	}
	report, err := study.Run(s.ctx)
	if err != nil {
		return nil, err
	}
	rows := make([]*whatif.Row, len(s.Goals))
	for i, g := range s.Goals {
		if rows[i] = report.Outcomes[0].Find(g.Class); rows[i] == nil {
			return nil, fmt.Errorf("goal %s: no request asks for %q, and the policy has no such class", g, g.Class)
		}
	}
	return rows, nil
}
