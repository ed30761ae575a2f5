package arbiter

import (
	"math"
	"math/rand/v2"
	"time"
)

// drain measures how fast a class is served lately, in tokens per second.
type drain struct {
	window float64 // time constant of the measurement, seconds; > 0
	rate   float64 // at last
	last   int64   // unix nanoseconds
	first  int64   // since when
}

// drainWindow is the time constant for a class, seconds.
const drainWindow = 10.0

// Bounds of an advice to retry.
const (
	minRetryAfter     = time.Second
	maxRetryAfter     = 5 * time.Minute
	unknownRetryAfter = 5 * time.Second // nothing has been served yet
)

// wake begins anew when a class is served for the first time after long: a pause
// in which nothing waited is no slowness. since is when what is served came.
func (d *drain) wake(since, now int64) {
	if d.first != 0 && seconds(now-d.last) > longIdle*d.window {
		d.first, d.rate = min(max(since, d.last), now), 0
	}
}

// longIdle is how many time constants make a pause.
const longIdle = 3

func (d *drain) add(tokens, now int64) {
	if d.first == 0 {
		d.first = now
	}
	d.rate = d.decayed(now) + float64(tokens)/d.window
	d.last = now
}

func (d *drain) decayed(now int64) float64 {
	return d.rate * math.Exp(-seconds(now-d.last)/d.window)
}

// perSecond corrects for the time before the first dispatch, which the decaying
// mean would count as idle.
func (d *drain) perSecond(now int64) float64 {
	if d.first == 0 {
		return 0
	}
	seen := 1 - math.Exp(-max(seconds(now-d.first), 0.1)/d.window)
	return d.decayed(now) / seen
}

// retryAfter is when the tokens ahead should have been served, give or take a
// tenth so that those refused together do not come back together.
func (d *drain) retryAfter(ahead, now int64, rng *rand.Rand) time.Duration {
	rate := d.perSecond(now)
	if rate <= 0 {
		return unknownRetryAfter
	}
	wait := float64(ahead) / rate * (0.9 + 0.2*rng.Float64())
	return min(max(time.Duration(min(wait, 1e6)*float64(time.Second)), minRetryAfter), maxRetryAfter)
}

// retryAfter is for who finds a class full: each request ahead costs a token at least.
func (a *Arbiter) retryAfter(c *class) time.Duration {
	n := c.waiting()
	return c.drain.retryAfter(n.Uncached+int64(n.Requests), a.now, a.rng)
}

func seconds(ns int64) float64 { return float64(ns) / 1e9 }
