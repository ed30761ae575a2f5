package tune

import (
	"context"
	"errors"
	"math"

	"fairlead/policy"
	"fairlead/sim/whatif"
)

// Config is a search. Study says what is played; its policies are not used.
type Config struct {
	Study *whatif.Study
	File  string // name of the policy file
	Text  []byte // its content, from which the search starts
	Goals []Goal
	// Quanta, Thresholds and Workers say what may change.
	Quanta, Thresholds, Workers bool
	MaxWorkers                  int // default 4 times those of the study
	MaxPlays                    int // most settings to play; default 400
	// Check is how many fresh seeds the result is played with. Default twice the
	// seeds of the study, at least 10.
	Check int
	// Progress is told what is being done, now and then; nil for nobody.
	Progress func(plays int, what string)
}

// Result is what came of a search.
type Result struct {
	Config   *Config
	Met      bool   // every goal, by the seeds of the search
	Policy   []byte // the file that was found, or the nearest
	Workers  int
	Plays    int
	Goals    []Standing // at the result
	Fewer    []Standing // with one worker less, when that was tried and fails; nil else
	Missed   []Conflict // about each goal that is missed
	Checked  int        // fresh seeds
	Together int        // of them, on which all goals held
	Held     []int      // of them, on which each goal held
	Limited  bool       // the search ended because of MaxPlays
}

// Standing is where a goal stands with a setting.
type Standing struct {
	Goal Goal
	Stat whatif.Stat
	Met  bool
}

// Conflict says what is known of a goal that cannot be met with the others.
type Conflict struct {
	Goal    Goal
	Alone   bool   // it can be met when nothing else is asked
	Against []Goal // goals without any one of which all the others can be met
}

// errPlays says that the search has played as often as it may.
var errPlays = errors.New("the limit of plays is reached")

// search is a search under way.
type search struct {
	*Config
	ctx    context.Context
	goals  []Goal // that count at present
	played map[string][]whatif.Stat
	plays  int
	what   string
}

// Run searches. The error is about the configuration, the files or ctx; that goals
// cannot be met is a result.
func Run(ctx context.Context, cfg Config) (*Result, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	s := &search{Config: &cfg, ctx: ctx, goals: cfg.Goals, played: map[string][]whatif.Stat{}}
	p, err := policy.Parse(cfg.File, cfg.Text)
	if err != nil {
		return nil, err
	}
	start := settingOf(p.Root, cfg.workers())
	best, _, err := s.fleet(start)
	r := &Result{Config: &cfg, Limited: errors.Is(err, errPlays)}
	if err != nil && !r.Limited {
		return nil, err
	}
	return r, s.explain(r, best)
}

func (c *Config) workers() int { return max(1, c.Study.Fleet[0].Count) }

func (c *Config) check() error {
	switch {
	case len(c.Goals) == 0:
		return errors.New("goals: none; want at least one, such as premium:ttft_p99<500ms")
	case !c.Quanta && !c.Thresholds && !c.Workers:
		return errors.New("tune: nothing may change; want quanta, thresholds or workers")
	case len(c.Study.Fleet) == 0:
		return errors.New("workers: none; want at least one")
	case c.Workers && len(c.Study.Fleet) > 1:
		return errors.New("workers: the fleet has several groups; want one, or its number left as it is")
	case c.MaxWorkers < 0 || c.MaxPlays < 0 || c.Check < 0:
		return errors.New("limits: negative; want positive numbers, or 0 for the defaults")
	}
	if c.MaxWorkers == 0 {
		c.MaxWorkers = 4 * c.workers()
	}
	if c.MaxPlays == 0 {
		c.MaxPlays = 400
	}
	c.Study.Seeds = max(c.Study.Seeds, 1)
	if c.Check == 0 {
		c.Check = max(10, 2*c.Study.Seeds)
	}
	return nil
}

// fleet finds the smallest number of workers with which the goals can be met, and how; when
// there is none, the best setting with the most workers.
func (s *search) fleet(start setting) (best setting, loss float64, err error) {
	best, loss, err = s.climb(start)
	if err != nil || !s.Workers {
		return best, loss, err
	}
	low, high := 0, start.workers // the search fails with low, and succeeds with high
	for loss > 0 && high < s.MaxWorkers && err == nil {
		low, high = high, min(2*high, s.MaxWorkers)
		var next setting
		if next, loss, err = s.climbAt(high, start, best); s.played[next.key()] != nil {
			best = next
		}
	}
	for loss == 0 && high-low > 1 && err == nil {
		n := (low + high) / 2
		next, short, failed := s.climbAt(n, start, best)
		switch err = failed; {
		case err != nil:
		case short == 0:
			best, high = next, n
		default:
			low = n
		}
	}
	return best, loss, err
}

// climbAt climbs with a number of workers: from the policy as it was given, when that
// is no worse than the best so far.
func (s *search) climbAt(workers int, start, best setting) (setting, float64, error) {
	given, from := start.clone(), best.clone()
	given.workers, from.workers = workers, workers
	x, err := s.loss(given)
	if err != nil {
		return from, x, err
	}
	y, err := s.loss(from)
	if err != nil {
		return from, y, err
	}
	if x <= y {
		from = given
	}
	return s.climb(from)
}

// factors are the steps of the search, in turn.
var factors = []float64{4, 2, math.Sqrt2, 1.19}

// climb changes one number at a time for the better until the loss is 0 or nothing helps.
func (s *search) climb(at setting) (setting, float64, error) {
	loss, err := s.loss(at)
	for _, factor := range factors {
		for better := true; better && loss > 0 && err == nil; {
			var next setting
			var least float64
			if next, least, err = s.step(at, factor); err != nil {
				break
			}
			if better = least < loss*(1-1e-3); better {
				at, loss = next, least
			}
		}
	}
	return at, loss, err
}

// step plays every change of one number by a factor, and returns the best.
func (s *search) step(at setting, factor float64) (best setting, least float64, err error) {
	least = math.Inf(1)
	for _, next := range s.neighbours(at, factor) {
		loss, err := s.loss(next)
		if err != nil {
			return best, least, err
		}
		if loss < least {
			best, least = next, loss
		}
		if loss == 0 {
			break
		}
	}
	return best, least, nil
}

// Bounds of what is tried.
const (
	mostQuantum   = 1 << 24
	mostThreshold = 1 << 24
	newThreshold  = 2048 // tokens, where there was none
)

// neighbours are the settings that differ from one in a single number. Only ratios of
// quanta matter for shares, so that one of two is enough; the first stays.
func (s *search) neighbours(at setting, factor float64) []setting {
	var list []setting
	change := func(of func(*setting) *int64, most int64) {
		for _, f := range []float64{factor, 1 / factor} {
			next := at.clone()
			value := of(&next)
			before := *value
			if *value = min(max(1, int64(math.Round(float64(before)*f))), most); *value != before {
				list = append(list, next)
			}
		}
	}
	if s.Quanta {
		for i := 1; i < len(at.quanta); i++ {
			change(func(x *setting) *int64 { return &x.quanta[i] }, mostQuantum)
		}
	}
	if s.Thresholds {
		for i := range at.thresholds {
			if at.thresholds[i] == 0 {
				next := at.clone()
				next.thresholds[i] = newThreshold
				list = append(list, next)
				continue
			}
			change(func(x *setting) *int64 { return &x.thresholds[i] }, mostThreshold)
		}
	}
	return list
}
