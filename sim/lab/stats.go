package lab

import (
	"math"
	"slices"
)

// All stands for every class.
const All = -1

// Sojourns returns the seconds from arrival to end of the jobs of class (or All), the first skip jobs of the run left
// out, in the order of arrival.
func (o *Outcome) Sojourns(class, skip int) []float64 { return o.since(o.End, class, skip) }

// Waits is like Sojourns, from arrival to the first service.
func (o *Outcome) Waits(class, skip int) []float64 { return o.since(o.Start, class, skip) }

func (o *Outcome) since(when []float64, class, skip int) []float64 {
	spans := make([]float64, 0, len(o.Jobs)-skip)
	for i := skip; i < len(o.Jobs); i++ {
		if class == All || int(o.Jobs[i].Class) == class {
			spans = append(spans, when[i]-o.Jobs[i].At)
		}
	}
	return spans
}

// Objective returns Σ wₖ pₖ E[Tₖ], the weighted mean sojourn time in seconds, without the first skip jobs.
func (o *Outcome) Objective(classes []Class, skip int) float64 {
	sum := 0.0
	for k, c := range classes {
		sum += c.Weight * c.Fraction * Mean(o.Sojourns(k, skip))
	}
	return sum
}

// Mean returns the average of x, NaN when it is empty.
func Mean(x []float64) float64 {
	sum := 0.0
	for _, v := range x {
		sum += v
	}
	return sum / float64(len(x))
}

// Quantile sorts x and returns its q-th quantile, 0 ≤ q ≤ 1, between two values by their distance; NaN when
// x is empty.
func Quantile(x []float64, q float64) float64 {
	if len(x) == 0 {
		return math.NaN()
	}
	slices.Sort(x)
	at := q * float64(len(x)-1)
	below := int(at)
	if below+1 >= len(x) {
		return x[len(x)-1]
	}
	return x[below] + (at-float64(below))*(x[below+1]-x[below])
}
