package arbiter

import (
	"fmt"
	"time"

	"fairlead/drr"
	"fairlead/wire"
)

// tooLate reports whether a request that is next in its lane could not meet its
// deadline any more, even on the fastest worker that may get it; by is the time
// that this one needs for its prompt. It is 0, and the answer no, while no
// worker's speed is known.
func (a *Arbiter) tooLate(in *ring, r *request) (by time.Duration, late bool) {
	if !r.cls.Shed || r.Deadline == 0 {
		return 0, false
	}
	speed := a.fastestFor(in, r)
	if speed <= 0 {
		return 0, false
	}
	need := float64(r.Cost()) / speed * float64(time.Second)
	if need <= float64(r.Deadline-a.now) {
		return 0, false
	}
	return time.Duration(min(need, float64(24*time.Hour))), true
}

// next takes the request that the ring hands out now, nil when there is none. On
// the way it sheds: a head that is too late is not charged, and those behind it
// are asked about.
func (a *Arbiter) next(in *ring) *drr.Entry {
	for {
		e := in.sched.Next(in.gate)
		done := e != nil || len(a.hopeless) == 0
		a.shedLate(in)
		if done {
			return e
		}
	}
}

func (a *Arbiter) shedLate(in *ring) {
	for i, r := range a.hopeless {
		a.hopeless[i] = nil
		need, _ := a.tooLate(in, r)
		a.judge(r, wire.Shed, fmt.Sprintf("%s are left of its time to live, and its prompt alone takes %s",
			time.Duration(r.Deadline-a.now).Round(time.Millisecond), need.Round(time.Millisecond)))
	}
	a.hopeless = a.hopeless[:0]
}
