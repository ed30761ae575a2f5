package sim

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"fairlead/agent/engine/mock"
	"fairlead/broker/arbiter"
	"fairlead/policy"
	"fairlead/wire"
)

// Config is one run. Zero values mean the defaults.
type Config struct {
	Policy   *policy.Policy // default policy.Default()
	Workers  []Worker       // at least one
	Requests []Request      // sorted by At
	// Seed of everything that is random: placement, jitter, failures, deaths.
	Seed uint64
	// Hop is the time that a message needs to its reader; 0 is instant.
	Hop time.Duration
	// Beat is the interval of heartbeats. Default 1 s.
	Beat time.Duration
	// AttemptTimeout ends an attempt of an engine that hangs. Default 1 h.
	AttemptTimeout time.Duration
	// Overload says which workers get nothing more; zero is off.
	Overload arbiter.Overload
	// Times says what recorded times are used for. Default Modelled.
	Times Times
	// Until ends the run, whatever is open then; 0 plays to the end.
	Until time.Duration
	// Observe is told what becomes of requests, in order; nil for nobody.
	Observe func(Happening)
}

// Request is one request to be asked.
type Request struct {
	At      time.Duration // since the start, >= 0
	Class   string        // as a client would name it: a class or a family
	Tenant  string
	Model   string // "" the only one served
	Session string // whose prompts begin alike; "" none
	Worker  string // pinned to; "" none
	Where   *Where // nil for anywhere
	Input   uint32 // tokens of the prompt
	Cached  uint32 // of them in a prefix cache, at most Input
	Output  uint32 // tokens that the engine generates; 0 counts as 1
	// MaxOutput is the bound that the client gives; 0 none.
	MaxOutput uint32
	Strict    uint32
	Priority  float64
	TTL       time.Duration // 0 none
	Soft      bool          // the pin is a preference
	NoQueue   bool
	Retry     wire.Retry
	Attempts  []Attempt // as recorded; see Times
}

// Where says which workers a request may be given to, as its headers do.
type Where struct {
	Allow   []string // workers; nil any
	Require []string // taints that the worker must have
	Prefer  []string // taints that break ties
	Rank    int32    // data-parallel rank of the pinned worker, or [wire.AnyRank]
}

// Attempt is one attempt of a request in a recording. Instants count from the same
// start as the request's At.
type Attempt struct {
	Handed time.Duration // when it was handed out
	First  time.Duration // first token; 0 none
	End    time.Duration
	Status wire.Status
	Reason wire.Reason
	Cached int64 // tokens of the prompt that its engine had in its cache; -1 it did not say
}

// Times says how long attempts take.
type Times uint8

// The kinds of times.
const (
	Modelled  Times = iota // as the engine's model says
	Durations              // as long as the recorded attempt of the same number
	Instants               // until the instant at which that attempt ended
)

// Worker is a machine with an agent and an engine.
type Worker struct {
	Name   string      // unique
	Engine mock.Config // of each rank, at speed 1; Speedup is not used
	Slots  int         // of the agent, for each rank; default those of the engine
	Ranks  int         // data-parallel ranks; default 1
	Speed  float64     // multiplies the rates of the engine; default 1
	// Undeclared keeps the worker's speed out of its heartbeats: brokers learn it.
	Undeclared  bool
	Taints      []string
	CacheTokens int64         // of each worker's prefix cache; 0 believes what requests say
	Join        time.Duration // when it starts
	// MTBF and MTTR are the mean times between deaths of the worker, and until it is
	// back; exponential. 0 never dies.
	MTBF, MTTR time.Duration
	Deaths     []Death // at set times
}

// Death is when a worker dies, and for how long it is gone.
type Death struct{ At, For time.Duration }

const (
	defaultBeat    = time.Second
	defaultAttempt = time.Hour
)

// withDefaults returns the configuration filled in, or what is wrong with it.
func (c Config) withDefaults() (Config, error) {
	if c.Policy == nil {
		c.Policy = policy.Default()
	}
	if c.Beat == 0 {
		c.Beat = defaultBeat
	}
	if c.AttemptTimeout == 0 {
		c.AttemptTimeout = defaultAttempt
	}
	var errs []error
	for _, d := range []struct {
		name  string
		value time.Duration
	}{{"hop", c.Hop}, {"beat", c.Beat}, {"attempt timeout", c.AttemptTimeout}, {"until", c.Until}} {
		if d.value < 0 {
			errs = append(errs, fmt.Errorf("%s %s: want a positive duration", d.name, d.value))
		}
	}
	errs = append(errs, c.checkWorkers(), c.checkRequests())
	return c, errors.Join(errs...)
}

// checkWorkers fills in the workers' defaults and looks at them.
func (c *Config) checkWorkers() error {
	if len(c.Workers) == 0 {
		return errors.New("workers: none; want at least one")
	}
	c.Workers = slices.Clone(c.Workers)
	names := map[string]bool{}
	for i := range c.Workers {
		w := &c.Workers[i]
		w.fill(i)
		if err := w.check(); err != nil {
			return fmt.Errorf("worker %s: %w", w.Name, err)
		}
		if names[w.Name] {
			return fmt.Errorf("worker %s: there are two of this name; want each once", w.Name)
		}
		names[w.Name] = true
	}
	return nil
}

func (w *Worker) fill(i int) {
	if w.Name == "" {
		w.Name = fmt.Sprintf("gpu-%d", i+1)
	}
	w.Engine = w.Engine.WithDefaults()
	if w.Slots == 0 {
		w.Slots = w.Engine.Slots
	}
	if w.Ranks == 0 {
		w.Ranks = 1
	}
	if w.Speed == 0 {
		w.Speed = 1
	}
}

func (w *Worker) check() error {
	switch {
	case !wire.ValidToken(w.Name):
		return errors.New("name: want 1 to 64 characters of A-Z a-z 0-9 _ -")
	case w.Ranks < 1 || w.Ranks > maxRanks:
		return fmt.Errorf("ranks: %d, want 1 to %d", w.Ranks, maxRanks)
	case w.Slots < 1 || w.Slots > maxSlots/w.Ranks:
		return fmt.Errorf("slots: %d on each of %d ranks, want at least 1 and at most %d together", w.Slots, w.Ranks, maxSlots)
	case !(w.Speed > 0 && w.Speed <= maxSpeed):
		return fmt.Errorf("speed: %v, want a positive number, at most %v", w.Speed, maxSpeed)
	case w.CacheTokens < 0:
		return fmt.Errorf("cache tokens: %d, want 0 (believe the requests) or more", w.CacheTokens)
	case w.Join < 0 || w.MTBF < 0 || w.MTTR < 0:
		return fmt.Errorf("join %s, MTBF %s, MTTR %s: want positive durations", w.Join, w.MTBF, w.MTTR)
	}
	for _, d := range w.Deaths {
		if d.At < 0 || d.For <= 0 {
			return fmt.Errorf("death at %s for %s: want an instant, and a positive duration", d.At, d.For)
		}
	}
	_, err := mock.NewModel(w.engine(0))
	return err
}

// A worker is modelled up to this.
const (
	maxSpeed = 1e6
	maxRanks = 1 << 10
	maxSlots = 1 << 20 // of all ranks together
)

// engine is the configuration of one rank's model.
func (w *Worker) engine(seed uint64) mock.Config {
	e := w.Engine
	e.PrefillRate *= w.Speed
	e.TokenTime = time.Duration(float64(e.TokenTime) / w.Speed)
	e.Seed = seed
	return e
}

func (c *Config) checkRequests() error {
	last := time.Duration(0)
	for i := range c.Requests {
		switch r := &c.Requests[i]; {
		case r.At < last:
			return fmt.Errorf("request %d: arrives at %s, after one that arrives at %s; want them sorted", i, r.At, last)
		case r.Cached > r.Input:
			return fmt.Errorf("request %d: %d of %d tokens are cached; want at most all", i, r.Cached, r.Input)
		case r.Input > wire.MaxTokens || r.Output > wire.MaxTokens:
			return fmt.Errorf("request %d: %d + %d tokens; want at most %d", i, r.Input, r.Output, uint32(wire.MaxTokens))
		}
		last = c.Requests[i].At
	}
	return nil
}
