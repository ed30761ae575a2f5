package lab

import (
	"fmt"
	"math"
	"math/rand/v2"
)

// Job is one request.
type Job struct {
	At       float64 // arrival in seconds, ≥ 0; lists of jobs are sorted by it
	Size     float64 // seconds of service on a server of speed 1, > 0
	Deadline float64 // when it should have ended, in seconds; 0 = none
	Jump     float64 // priority within its class, ≥ 0
	Tokens   uint32  // what a scheduler believes that it costs, ≥ 1
	Output   uint32  // tokens generated, unknown until it has ended
	Class    int32   // 0, 1, …
	Tenant   uint32
}

// Class is a kind of request in a Workload. Service times are lognormal.
type Class struct {
	Name     string
	Weight   float64 // holding cost of a second, > 0
	Fraction float64 // of all arrivals, > 0; those of a workload sum to 1
	Mean     float64 // of the service time, seconds, > 0
	Sigma    float64 // standard deviation of the logarithm of the service time, ≥ 0
	Jump     float64 // priority of its requests, ≥ 0
}

// secondMoment returns E[S²].
func (c Class) secondMoment() float64 { return c.Mean * c.Mean * math.Exp(c.Sigma*c.Sigma) }

// mu returns the mean of the logarithm of the service time.
func (c Class) mu() float64 { return math.Log(c.Mean) - c.Sigma*c.Sigma/2 }

// Workload is a Poisson stream of requests of several classes.
type Workload struct {
	Classes []Class
	Load    float64 // ρ: seconds of service that arrive in a second, > 0
	Rate    float64 // tokens served in a second, > 0: the resolution in which costs are known
	Noise   float64 // σ of the lognormal factor by which known costs are wrong, ≥ 0
}

// Check says what is wrong with w.
func (w Workload) Check() error {
	sum := 0.0
	for i, c := range w.Classes {
		if !(c.Weight > 0 && c.Fraction > 0 && c.Mean > 0 && c.Sigma >= 0 && c.Jump >= 0) {
			return fmt.Errorf("class %d: %+v; want Weight, Fraction and Mean above 0, Sigma and Jump not below", i, c)
		}
		sum += c.Fraction
	}
	switch {
	case math.Abs(sum-1) > 1e-9:
		return fmt.Errorf("field Classes: fractions sum to %v; want 1", sum)
	case !(w.Load > 0 && w.Rate > 0 && w.Noise >= 0):
		return fmt.Errorf("load %v, rate %v, noise %v; want Load and Rate above 0, Noise not below", w.Load, w.Rate, w.Noise)
	}
	return nil
}

// ArrivalRate returns λ, requests in a second.
func (w Workload) ArrivalRate() float64 { return w.Load / w.meanSize() }

func (w Workload) meanSize() float64 {
	mean := 0.0
	for _, c := range w.Classes {
		mean += c.Fraction * c.Mean
	}
	return mean
}

// Draw returns the first n requests of the stream that seed names. Gaps, classes, sizes and errors come from
// generators of their own, so that a change of the load stretches the same stream, and noise leaves it alone.
func (w Workload) Draw(seed uint64, n int) ([]Job, error) {
	if err := w.Check(); err != nil {
		return nil, err
	}
	gaps, kinds, sizes, errors := stream(seed, 1), stream(seed, 2), stream(seed, 3), stream(seed, 4)
	jobs, now, lambda := make([]Job, n), 0.0, w.ArrivalRate()
	for i := range jobs {
		now += gaps.ExpFloat64() / lambda
		class := w.pick(kinds.Float64())
		c := &w.Classes[class]
		size := math.Exp(c.mu() + c.Sigma*sizes.NormFloat64())
		known := size * math.Exp(w.Noise*errors.NormFloat64())
		jobs[i] = Job{At: now, Size: size, Tokens: tokens(known * w.Rate), Class: int32(class), Jump: c.Jump}
	}
	return jobs, nil
}

// Generators of one seed, by what they are for.
func stream(seed, purpose uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, purpose)) }

// pick returns the class at u of the unit interval.
func (w Workload) pick(u float64) int {
	for i, c := range w.Classes {
		if u -= c.Fraction; u < 0 {
			return i
		}
	}
	return len(w.Classes) - 1
}

// tokens rounds to a cost; what is too large for one counts as the largest.
func tokens(x float64) uint32 { return uint32(max(1, min(math.Round(x), math.MaxUint32))) }
