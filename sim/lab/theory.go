package lab

import "math"

// Residual returns W₀ = λE[S²]/2, the mean work that an arrival finds in service.
func (w Workload) Residual() float64 {
	second := 0.0
	for _, c := range w.Classes {
		second += c.Fraction * c.secondMoment()
	}
	return w.ArrivalRate() * second / 2
}

// PollaczekKhinchine returns the mean wait under FCFS, W₀/(1 − ρ), for ρ < 1.
func (w Workload) PollaczekKhinchine() float64 { return w.Residual() / (1 - w.Load) }

// Cobham returns the mean waits of the classes under the c-mu rule: W₀/((1 − R⁻)(1 − R)), R being the load of the classes
// that go no later, R⁻ of those that go earlier (Cobham 1954).
func (w Workload) Cobham() []float64 {
	ranks, waits := ranking(w.Classes), make([]float64, len(w.Classes))
	for k := range w.Classes {
		earlier := 0.0
		for j := range w.Classes {
			if ranks[j] < ranks[k] {
				earlier += w.load(j)
			}
		}
		waits[k] = w.Residual() / ((1 - earlier) * (1 - earlier - w.load(k)))
	}
	return waits
}

func (w Workload) load(class int) float64 {
	return w.ArrivalRate() * w.Classes[class].Fraction * w.Classes[class].Mean
}

// SmithWaits returns the mean waits of the classes under WSPT by weight over known size, with the
// Noise of w: a request of index y waits W₀/(1 − ρ(y))², ρ(y) being the load of what has a larger index.
// The index knows the size only up to the noise, so the load is that of the sizes whose noisy index is larger.
func (w Workload) SmithWaits() []float64 {
	waits := make([]float64, len(w.Classes))
	for k, c := range w.Classes {
		spread := math.Hypot(c.Sigma, w.Noise)
		waits[k] = overNormal(func(z float64) float64 {
			y := math.Log(c.Weight) - c.mu() - spread*z
			free := 1 - w.loadAbove(y)
			return w.Residual() / (free * free)
		})
	}
	return waits
}

// loadAbove returns the load of requests whose index, weight over known size, has a logarithm above y.
func (w Workload) loadAbove(y float64) float64 {
	sum := 0.0
	for j, c := range w.Classes {
		// E[S; known size < weight/e^y], both lognormal with covariance σ² of their logarithms.
		spread := math.Hypot(c.Sigma, w.Noise)
		sum += w.load(j) * normal((math.Log(c.Weight)-y-c.mu()-c.Sigma*c.Sigma)/spread)
	}
	return sum
}

// SRPTSojourns returns the mean sojourn times of the classes under SRPT (Schrage and Miller 1966): the wait
// λ(∫₀ˣ t² dF + x²(1 − F(x)))/(2(1 − ρ(x))²) of a request of size x, and then ∫₀ˣ dt/(1 − ρ(t)).
func (w Workload) SRPTSojourns() []float64 {
	sojourns := make([]float64, len(w.Classes))
	residence := w.residence()
	for k, c := range w.Classes {
		sojourns[k] = overNormal(func(z float64) float64 {
			x := math.Exp(c.mu() + c.Sigma*z)
			load, second, above := w.below(x)
			return w.ArrivalRate()*(second+x*x*above)/2/((1-load)*(1-load)) + residence(x)
		})
	}
	return sojourns
}

// below returns the load and the second moment of requests smaller than x, and the fraction of larger ones.
func (w Workload) below(x float64) (load, second, above float64) {
	for j, c := range w.Classes {
		z, s := (math.Log(x)-c.mu())/c.Sigma, c.Sigma
		load += w.load(j) * normal(z-s)
		second += c.Fraction * c.secondMoment() * normal(z-2*s)
		above += c.Fraction * (1 - normal(z))
	}
	return load, second, above
}

// residence tabulates ∫₀ˣ dt/(1 − ρ(t)) on a logarithmic grid and returns it as a function.
func (w Workload) residence() func(x float64) float64 {
	const low, step, steps = -14.0, 0.005, 5600 // ln x from e⁻¹⁴ to e¹⁴ seconds
	table := make([]float64, steps+1)
	rate := func(t float64) float64 { load, _, _ := w.below(t); return t / (1 - load) } // dt = t d(ln t)
	table[0] = math.Exp(low)
	for i := range steps {
		at := low + step*float64(i)
		table[i+1] = table[i] + step/6*(rate(math.Exp(at))+4*rate(math.Exp(at+step/2))+rate(math.Exp(at+step)))
	}
	return func(x float64) float64 {
		at := (math.Log(x) - low) / step
		i := max(0, min(int(at), steps-1))
		return table[i] + (at-float64(i))*(table[i+1]-table[i])
	}
}

// Objective returns Σ wₖ pₖ xₖ over the classes, of mean sojourn times in seconds.
func (w Workload) Objective(sojourns []float64) float64 {
	sum := 0.0
	for k, c := range w.Classes {
		sum += c.Weight * c.Fraction * sojourns[k]
	}
	return sum
}

// Sojourns adds the mean service times of the classes to their mean waits.
func (w Workload) Sojourns(waits []float64) []float64 {
	sojourns := make([]float64, len(waits))
	for k := range waits {
		sojourns[k] = waits[k] + w.Classes[k].Mean
	}
	return sojourns
}

// SharedSojourns returns the mean sojourn times of the classes under processor sharing: E[S]/(1 − ρ), whatever the
// distribution.
func (w Workload) SharedSojourns() []float64 {
	sojourns := make([]float64, len(w.Classes))
	for k, c := range w.Classes {
		sojourns[k] = c.Mean / (1 - w.Load)
	}
	return sojourns
}

// TwoChoicesMeanField returns the mean sojourn time in units of the mean service time when each of very many equal
// servers has load rho < 1, service is exponential, and the shorter of two random lines is joined:
// Σ ρ^(2ⁱ − 2) (Mitzenmacher 1996).
func TwoChoicesMeanField(rho float64) float64 {
	sum := 0.0
	for i := 1; i < 60; i++ {
		sum += math.Pow(rho, math.Exp2(float64(i))-2)
	}
	return sum
}

// normal is the standard normal distribution function.
func normal(z float64) float64 { return math.Erfc(-z/math.Sqrt2) / 2 }

// overNormal returns the mean of f over a standard normal variable, by Simpson's rule.
func overNormal(f func(z float64) float64) float64 {
	const reach, steps = 9.0, 1800
	h, sum := 2*reach/steps, 0.0
	for i := range steps + 1 {
		z, weight := -reach+h*float64(i), 2.0
		switch {
		case i == 0 || i == steps:
			weight = 1
		case i%2 == 1:
			weight = 4
		}
		sum += weight * f(z) * math.Exp(-z*z/2)
	}
	return sum * h / 3 / math.Sqrt(2*math.Pi)
}
