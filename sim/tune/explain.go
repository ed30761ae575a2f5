package tune

import (
	"errors"
	"slices"
)

// explain fills in what is said beside the policy that was found.
func (s *search) explain(r *Result, best setting) error {
	stats, ok := s.played[best.key()]
	if !ok {
		return errPlays // not even the first play was allowed
	}
	r.Met, r.Workers = true, best.workers
	for i, g := range s.Goals {
		x := Standing{Goal: g, Stat: stats[i], Met: g.met(g.value(stats[i]))}
		r.Met = r.Met && x.Met
		r.Goals = append(r.Goals, x)
	}
	err := s.reasons(r, best)
	if errors.Is(err, errPlays) {
		r.Limited, err = true, nil
	}
	if err == nil {
		r.Policy, err = best.write(s.File, s.Text)
	}
	r.Plays = s.plays
	if err != nil {
		return err
	}
	return s.check(r, best)
}

// reasons looks for what binds, or for what cannot be had together.
func (s *search) reasons(r *Result, best setting) error {
	if !r.Met {
		return s.conflicts(r, best)
	}
	if !s.Workers || best.workers == 1 {
		return nil
	}
	less := best.clone()
	less.workers--
	s.what = "one worker less"
	less, loss, err := s.climb(less)
	if err != nil || loss == 0 {
		return err
	}
	stats, err := s.play(less)
	for i, g := range s.Goals {
		if !g.met(g.value(stats[i])) {
			r.Fewer = append(r.Fewer, Standing{Goal: g, Stat: stats[i]})
		}
	}
	return err
}

// conflicts asks about each missed goal whether it could be met alone, and which
// other goal has to go so that the rest can be met.
func (s *search) conflicts(r *Result, best setting) error {
	all := s.Goals
	defer func() { s.goals = all }()
	for _, x := range r.Goals {
		if x.Met {
			continue
		}
		c := Conflict{Goal: x.Goal}
		s.what, s.goals = "only "+x.Goal.String(), []Goal{x.Goal}
		_, loss, err := s.climb(best)
		if err != nil {
			return err
		}
		c.Alone = loss == 0
		for _, other := range all {
			if !c.Alone || other == x.Goal {
				continue
			}
			s.what = "without " + other.String()
			s.goals = slices.DeleteFunc(slices.Clone(all), func(g Goal) bool { return g == other })
			if _, loss, err = s.climb(best); err != nil {
				return err
			}
			if loss == 0 {
				c.Against = append(c.Against, other)
			}
		}
		r.Missed = append(r.Missed, c)
	}
	return nil
}

// freshSeed is the first of those that the search has not seen.
const freshSeed = 1 << 20

// check plays the result with fresh seeds, and counts on how many each goal held.
func (s *search) check(r *Result, best setting) error {
	s.what = "fresh seeds"
	if s.Progress != nil {
		s.Progress(s.plays, s.what)
	}
	rows, err := s.run(best, s.Check, freshSeed)
	if err != nil {
		return err
	}
	r.Checked, r.Held = s.Check, make([]int, len(s.Goals))
	for seed := range s.Check {
		together := true
		for i, g := range s.Goals {
			if g.met(rows[i].Value(g.Metric, seed)) {
				r.Held[i]++
			} else {
				together = false
			}
		}
		if together {
			r.Together++
		}
	}
	return nil
}
