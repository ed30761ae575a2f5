package mock

import (
	"math/rand/v2"
	"slices"
	"time"
)

// Job is what one sequence asks of the engine.
type Job struct {
	// Uncached prompt tokens must be prefilled before the first output token.
	Uncached int64
	// Output tokens are produced after that; at least 1.
	Output int64
	// Slow and Stuck are failures: a tenth of the speed, or none at all.
	Slow, Stuck bool
}

// Progress is what one step did for one sequence.
type Progress struct {
	ID uint64
	// Produced is how many output tokens it has so far, 0 when its prefill has just
	// ended; Done when it needs no more.
	Produced int64
	Done     bool
}

// Model is the timing of a continuously batching engine. It is a pure state
// machine: add and remove jobs, call Step, let the returned time pass, hand out
// the progress. Who wants only what changes may leap over the steps between with
// Alike and Skip. It is not safe for concurrent use.
type Model struct {
	cfg     Config
	rng     *rand.Rand
	running []*sequence // in order of arrival; at most cfg.Slots
	waiting []*sequence // in order of arrival
	out     []Progress  // reused by Step
}

type sequence struct {
	id  uint64
	job Job
	// prefill is what is left of the prompt; produced counts output tokens.
	prefill, produced int64
	turns             int64 // steps it took part in as decoding
}

// NewModel returns an idle engine. Speedup, failures and model names are the
// business of its caller.
func NewModel(cfg Config) (*Model, error) {
	cfg = cfg.WithDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	return newModel(cfg), nil
}

func newModel(cfg Config) *Model {
	return &Model{cfg: cfg, rng: rand.New(rand.NewPCG(cfg.Seed, 0))}
}

// Add lets a job in: into a slot, or behind those that wait for one. The id
// must not be in use.
func (m *Model) Add(id uint64, job Job) {
	job.Output = max(job.Output, 1)
	m.waiting = append(m.waiting, &sequence{id: id, job: job, prefill: max(job.Uncached, 0)})
	m.fill()
}

// Remove takes a job out, finished or not; false when there is no such job.
func (m *Model) Remove(id uint64) bool {
	is := func(s *sequence) bool { return s.id == id }
	before := len(m.running) + len(m.waiting)
	m.running = slices.DeleteFunc(m.running, is)
	m.waiting = slices.DeleteFunc(m.waiting, is)
	m.fill()
	return len(m.running)+len(m.waiting) < before
}

// Running counts the jobs that hold a slot.
func (m *Model) Running() int { return len(m.running) }

// Waiting counts the jobs without a slot.
func (m *Model) Waiting() int { return len(m.waiting) }

func (m *Model) fill() {
	free := min(m.cfg.Slots-len(m.running), len(m.waiting))
	if free > 0 {
		m.running = append(m.running, m.waiting[:free]...)
		m.waiting = slices.Delete(m.waiting, 0, free)
	}
}

// Step does the next step: how long it takes, before Speedup, and what has come
// out when that time has passed. It is not ok when nothing can go on until a
// job comes or goes. Finished jobs are gone from the model. The slice is valid
// until the next call.
func (m *Model) Step() (took time.Duration, out []Progress, ok bool) {
	m.out = m.out[:0]
	decoding := m.decode()
	prefilled := m.prefill(m.cfg.MaxBatched - decoding)
	if decoding+prefilled == 0 {
		return 0, nil, false
	}
	m.running = slices.DeleteFunc(m.running, func(s *sequence) bool { return s.produced >= s.job.Output })
	m.fill()
	return m.cost(prefilled, decoding), m.out, true
}

// decode gives each prefilled sequence its tokens and returns how many
// sequences took part.
func (m *Model) decode() int64 {
	var decoding int64
	for _, s := range m.running {
		if s.prefill > 0 || s.job.Stuck {
			continue
		}
		decoding++
		s.turns++
		if !s.job.Slow || s.turns%slowFactor == 0 {
			m.produce(s)
		}
	}
	return decoding
}

// prefill spends the budget on prompts, oldest first, and returns what it spent.
// A prompt that ends with this step waits for the next one to get its token.
func (m *Model) prefill(budget int64) int64 {
	var spent int64
	for _, s := range m.running {
		if s.job.Stuck {
			continue
		}
		n := min(s.prefill, max(budget-spent, 0))
		s.prefill -= n
		spent += n
		if n > 0 && s.prefill == 0 {
			m.out = append(m.out, Progress{ID: s.id})
		}
	}
	return spent
}

// Alike foretells steps without doing them: the next n take each as long and
// bring nothing but further tokens of the same sequences, as long as no job comes or goes.
// It is 0 when the next step is not of that kind, or is drawn at random.
func (m *Model) Alike() (n int64, each time.Duration) {
	if m.cfg.Jitter > 0 {
		return 0, 0
	}
	decoding := int64(0)
	for _, s := range m.running {
		switch {
		case s.job.Stuck:
			continue
		case s.prefill > 0 || s.produced == 0 || s.job.Slow:
			return 0, 0
		}
		left := (s.job.Output-s.produced+m.cfg.Stride-1)/m.cfg.Stride - 1 // but for the one that ends it
		if decoding++; decoding == 1 || left < n {
			n = left
		}
	}
	return n, m.cost(0, decoding)
}

// Skip does n steps at once, of those that Alike foretold.
func (m *Model) Skip(n int64) {
	for _, s := range m.running {
		if !s.job.Stuck {
			s.turns += n
			s.produced += n * m.cfg.Stride
		}
	}
}

func (m *Model) produce(s *sequence) {
	s.produced = min(s.produced+m.cfg.Stride, s.job.Output)
	m.out = append(m.out, Progress{ID: s.id, Produced: s.produced, Done: s.produced == s.job.Output})
}

func (m *Model) cost(prefilled, decoding int64) time.Duration {
	took := float64(prefilled) / m.cfg.PrefillRate * float64(time.Second)
	if decoding > 0 {
		took += float64(m.cfg.TokenTime) * float64(m.cfg.Stride) * (1 + m.cfg.BatchSlowdown*float64(decoding-1))
	}
	if m.cfg.Jitter > 0 {
		took *= 1 + m.cfg.Jitter*(2*m.rng.Float64()-1)
	}
	return time.Duration(took)
}
