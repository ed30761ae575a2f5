package mock

import (
	"fmt"
	"math"
	"time"
)

// Config is a mock engine. A zero field takes its default.
type Config struct {
	// Names of the models it serves; by default one, "mock".
	Models []string
	// Slots is how many sequences run at once; more wait in the engine. Default 8.
	Slots int
	// RefuseWhenFull answers busy instead of letting a request wait for a slot.
	RefuseWhenFull bool
	// PrefillRate is in uncached prompt tokens per second. Default 20,000.
	PrefillRate float64
	// TokenTime is how long a step with one decoding sequence takes. Default 20 ms.
	TokenTime time.Duration
	// BatchSlowdown is the fraction of TokenTime that each further decoding
	// sequence adds to a step. Default 0.02; negative means none.
	BatchSlowdown float64
	// MaxBatched bounds the tokens of one step, prompt and decode. Default
	// DefaultMaxBatched.
	MaxBatched int64
	// Stride is how many tokens a sequence decodes in one step, and gets in one
	// chunk: more is coarser and cheaper. Default 1.
	Stride int64
	// OutputTokens is the length of an answer that nobody bounded. Default 64.
	OutputTokens int64
	// Jitter is the largest relative deviation of a step, 0 to 1. Default 0.
	Jitter float64
	// Failures are tried in order for each request; the first that strikes counts.
	Failures []Failure
	// Seed fixes jitter and failures.
	Seed uint64
	// Speedup divides every duration. Default 1.
	Speedup float64
}

// DefaultMaxBatched is how many tokens a mock batches in one step.
const DefaultMaxBatched = 2048

// WithDefaults is the configuration with every zero field filled in.
func (c Config) WithDefaults() Config {
	if len(c.Models) == 0 {
		c.Models = []string{"mock"}
	}
	orDefault(&c.Slots, 8)
	orDefault(&c.PrefillRate, 20_000)
	orDefault(&c.TokenTime, 20*time.Millisecond)
	orDefault(&c.BatchSlowdown, 0.02)
	orDefault(&c.MaxBatched, DefaultMaxBatched)
	orDefault(&c.Stride, 1)
	orDefault(&c.OutputTokens, 64)
	orDefault(&c.Speedup, 1)
	c.BatchSlowdown = max(c.BatchSlowdown, 0)
	return c
}

func orDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

func (c Config) validate() error {
	switch {
	case c.Slots < 1:
		return fmt.Errorf("slots: %d, want at least 1", c.Slots)
	case !positive(c.PrefillRate):
		return fmt.Errorf("prefill rate: %v tokens/s, want a positive number", c.PrefillRate)
	case c.TokenTime < 0:
		return fmt.Errorf("token time: %s, want a positive duration", c.TokenTime)
	case math.IsNaN(c.BatchSlowdown) || math.IsInf(c.BatchSlowdown, 0):
		return fmt.Errorf("batch slowdown: %v, want a finite fraction", c.BatchSlowdown)
	case c.MaxBatched < 1:
		return fmt.Errorf("max batched tokens: %d, want at least 1", c.MaxBatched)
	case c.Stride < 1:
		return fmt.Errorf("stride: %d, want at least 1", c.Stride)
	case c.OutputTokens < 1:
		return fmt.Errorf("output tokens: %d, want at least 1", c.OutputTokens)
	case !(c.Jitter >= 0 && c.Jitter <= 1):
		return fmt.Errorf("jitter: %v, want a fraction from 0 to 1", c.Jitter)
	case !positive(c.Speedup):
		return fmt.Errorf("speedup: %v, want a positive number", c.Speedup)
	}
	for _, f := range c.Failures {
		if err := f.validate(); err != nil {
			return err
		}
	}
	return nil
}

func positive(f float64) bool { return f > 0 && !math.IsInf(f, 0) }
