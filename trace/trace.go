package trace

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"time"
)

// Request is one recorded request.
type Request struct {
	At      time.Duration // arrival since the start of the trace, >= 0
	Class   string        // [A-Za-z0-9_-]+
	Input   int           // prompt tokens, 0 … 2^31
	Cached  int           // prompt tokens already in a prefix cache, 0 … Input
	Output  int           // generated tokens, 0 … 2^31
	Session string        // requests of one session share a long prefix; "" when unknown
}

// Classes lists the classes of reqs in the order of their first arrival.
func Classes(reqs []Request) []string {
	var classes []string
	for _, r := range reqs {
		if !slices.Contains(classes, r.Class) {
			classes = append(classes, r.Class)
		}
	}
	return classes
}

// Scale multiplies every arrival by factor: 0.1 replays ten times as fast, 0 lets
// everything arrive at once. It panics unless factor is finite and not negative.
func Scale(reqs []Request, factor float64) []Request {
	if !(factor >= 0) || math.IsInf(factor, 1) {
		panic("trace: Scale needs a finite factor >= 0")
	}
	scaled := slices.Clone(reqs)
	for i := range scaled {
		scaled[i].At = saturate(float64(scaled[i].At) * factor)
	}
	return scaled
}

// Spread undoes a coarse clock: requests recorded at one instant move to uniform
// random points before the next recorded instant, at most within later. The order
// of the trace does not change. The Mooncake conversation trace needs it, with
// within = [MooncakeGrid].
func Spread(reqs []Request, within time.Duration, rng *rand.Rand) []Request {
	spread := slices.Clone(reqs)
	for start := 0; start < len(spread); {
		end := endOfInstant(spread, start)
		width := within
		if end < len(spread) {
			width = min(width, spread[end].At-spread[start].At)
		}
		scatter(spread[start:end], width, rng)
		start = end
	}
	return spread
}

// endOfInstant is the index after the last request that arrived with start.
func endOfInstant(reqs []Request, start int) int {
	end := start + 1
	for end < len(reqs) && reqs[end].At == reqs[start].At {
		end++
	}
	return end
}

// scatter delays reqs, which arrived together, by sorted uniform draws from
// [0, width).
func scatter(reqs []Request, width time.Duration, rng *rand.Rand) {
	if width <= 0 {
		return
	}
	delays := make([]time.Duration, len(reqs))
	for i := range delays {
		delays[i] = time.Duration(rng.Int64N(int64(width)))
	}
	slices.Sort(delays)
	for i := range reqs {
		reqs[i].At += delays[i]
	}
}

func sortByArrival(reqs []Request) {
	slices.SortStableFunc(reqs, func(a, b Request) int { return cmp.Compare(a.At, b.At) })
}

// saturate converts nanoseconds to a Duration, capping what does not fit.
func saturate(ns float64) time.Duration {
	if ns >= math.MaxInt64 {
		return math.MaxInt64
	}
	return time.Duration(ns)
}
