package mock

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"
)

// FailureKind is a way in which the mock misbehaves.
type FailureKind string

// The ways to misbehave.
const (
	// Refuse answers busy with RetryAfter, before anything started.
	Refuse FailureKind = "refuse"
	// Hang takes a slot and then says nothing until it is cancelled.
	Hang FailureKind = "hang"
	// Die breaks off after half of the answer.
	Die FailureKind = "die"
	// Slow decodes at a tenth of the usual speed.
	Slow FailureKind = "slow"
)

// slowFactor is how many steps a slow sequence needs for one token.
const slowFactor = 10

// Failure strikes a request with a probability, or every nth request; exactly
// one of the two is set.
type Failure struct {
	Kind        FailureKind
	Probability float64
	Every       uint64
	// RetryAfter goes with Refuse; default 1 s.
	RetryAfter time.Duration
}

// ParseFailure reads "kind=probability", such as "die=0.01", or "kind@n" for
// every nth request, such as "refuse@5".
func ParseFailure(s string) (Failure, error) {
	if kind, p, ok := strings.Cut(s, "="); ok {
		v, err := strconv.ParseFloat(p, 64)
		if err != nil {
			return Failure{}, fmt.Errorf("failure %q: %q is no probability, want 0 to 1", s, p)
		}
		f := Failure{Kind: FailureKind(kind), Probability: v}
		return f, f.validate()
	}
	if kind, n, ok := strings.Cut(s, "@"); ok {
		v, err := strconv.ParseUint(n, 10, 64)
		if err != nil {
			return Failure{}, fmt.Errorf("failure %q: %q is no count, want a whole number from 1", s, n)
		}
		f := Failure{Kind: FailureKind(kind), Every: v}
		return f, f.validate()
	}
	return Failure{}, fmt.Errorf("failure %q: want kind=probability or kind@n", s)
}

func (f Failure) validate() error {
	switch f.Kind {
	case Refuse, Hang, Die, Slow:
	default:
		return fmt.Errorf("failure %q: unknown kind, want refuse, hang, die or slow", f.Kind)
	}
	if !(f.Probability >= 0 && f.Probability <= 1) {
		return fmt.Errorf("failure %s: probability %v, want 0 to 1", f.Kind, f.Probability)
	}
	if (f.Probability > 0) == (f.Every > 0) {
		return fmt.Errorf("failure %s: want either a probability above 0 or a count from 1", f.Kind)
	}
	if f.RetryAfter < 0 {
		return fmt.Errorf("failure %s: retry after %s, want a positive duration", f.Kind, f.RetryAfter)
	}
	return nil
}

// Fates draws failures. It is the part of the mock that remembers how many
// requests there were.
type Fates struct {
	failures []Failure
	rng      *rand.Rand
	requests uint64
}

// NewFates draws by rules that are tried in order for each request, repeatably
// from a seed.
func NewFates(failures []Failure, seed uint64) *Fates {
	return &Fates{failures: failures, rng: rand.New(rand.NewPCG(seed, 1))}
}

// Next returns the failure of the next request; its Kind is empty for none.
// Every probability is drawn each time, so that one rule does not shift another.
func (f *Fates) Next() Failure {
	f.requests++
	var struck Failure
	for _, rule := range f.failures {
		hit := rule.Every > 0 && f.requests%rule.Every == 0
		if rule.Every == 0 {
			hit = f.rng.Float64() < rule.Probability
		}
		if hit && struck.Kind == "" {
			struck = rule
		}
	}
	return struck
}
