package lab

import (
	"fmt"
	"math/rand/v2"
)

// Placement picks one of several servers for a request that arrives.
type Placement uint8

// The placements.
const (
	Random       Placement = iota
	RoundRobin             // each in turn
	ShortestLine           // fewest requests (JSQ by count)
	LeastWork              // least time until it would be idle: unfinished work over speed
	TwoByLine              // the better of two by requests (power of two choices, P2C)
	TwoByWork              // the better of two by time until idle
)

func (p Placement) String() string {
	names := [...]string{"random", "round robin", "JSQ by count", "JSQ by work", "P2C by count", "P2C by work"}
	if int(p) < len(names) {
		return names[p]
	}
	return fmt.Sprintf("Placement(%d)", p)
}

// host is a server with a line of its own, first come first served.
type host struct {
	speed float64
	free  float64   // when it will be idle
	ends  []float64 // of the requests in its line, ascending; those before first have ended
	first int
}

// line returns the number of requests that are there now.
func (h *host) line(now float64) int {
	for h.first < len(h.ends) && h.ends[h.first] <= now {
		h.first++
	}
	if h.first > 64 && 2*h.first > len(h.ends) {
		h.ends = append(h.ends[:0], h.ends[h.first:]...)
		h.first = 0
	}
	return len(h.ends) - h.first
}

type fleet struct {
	hosts  []host
	place  Placement
	rng    *rand.Rand
	served int
}

// Route lets servers of these speeds serve jobs, each in a line of its own, first come first served. The choice of the
// server is made on arrival and stands. With one server it is Lindley's recursion. Area stays 0.
func Route(jobs []Job, speeds []float64, place Placement, seed uint64) (*Outcome, error) {
	if len(speeds) == 0 || place > TwoByWork {
		return nil, fmt.Errorf("%d speeds, placement %v; want at least one server and a known placement", len(speeds), place)
	}
	f := fleet{place: place, rng: stream(seed, 5), hosts: make([]host, len(speeds))}
	for i, s := range speeds {
		if !(s > 0) {
			return nil, fmt.Errorf("speed %v of server %d; want one above 0", s, i)
		}
		f.hosts[i].speed = s
	}
	o := newOutcome(jobs)
	for i, j := range jobs {
		h := &f.hosts[f.pick(j.At)]
		o.Start[i] = max(j.At, h.free)
		h.free = o.Start[i] + j.Size/h.speed
		h.ends = append(h.ends, h.free)
		h.line(j.At)
		o.End[i] = h.free
	}
	return o, nil
}

func (f *fleet) pick(now float64) int {
	n := len(f.hosts)
	switch f.place {
	case Random:
		return f.rng.IntN(n)
	case RoundRobin:
		f.served++
		return (f.served - 1) % n
	case TwoByLine, TwoByWork:
		return f.better(now)
	}
	least, start := 0, f.rng.IntN(n) // from a random place on, so that ties go to nobody in particular
	for k := range n {
		if i := (start + k) % n; k == 0 || f.burden(i, now) < f.burden(least, now) {
			least = i
		}
	}
	return least
}

// better returns the less burdened of two different servers.
func (f *fleet) better(now float64) int {
	n := len(f.hosts)
	a := f.rng.IntN(n)
	b := (a + 1 + f.rng.IntN(max(1, n-1))) % n
	if f.burden(b, now) < f.burden(a, now) {
		return b
	}
	return a
}

// burden is what a placement compares: requests, or seconds.
func (f *fleet) burden(i int, now float64) float64 {
	h := &f.hosts[i]
	if f.place == ShortestLine || f.place == TwoByLine {
		return float64(h.line(now))
	}
	return max(0, h.free-now)
}
