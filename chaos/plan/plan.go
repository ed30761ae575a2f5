// Package plan draws the schedule of a chaos run: which fault strikes what, when
// and for how long. It is pure: one seed is one schedule, on every machine.
//
// A schedule breaks much, but never what the promises rest on: of NATS's nodes
// one at a time is in trouble, and it gets time to catch up before the next; all
// brokers may be dead together, and of the agents one is left alone.
package plan

import (
	"fmt"
	"math/rand/v2"
	"time"
)

// Options say how large a schedule is. All are at least 1, agents and nodes at
// least 3.
type Options struct {
	Seed   uint64
	Faults int
	Agents int
	Nodes  int           // of NATS
	Every  time.Duration // from one fault to the next, on average
	NoDisk bool          // leaves out FullDisk, where there is no small file system to fill
}

// Fault is one entry of a schedule.
type Fault struct {
	N      int // 1, 2, …
	At     time.Duration
	Kind   Kind
	Target int // of agents or nodes; of brokers only the leader, or the others, are meant
	For    time.Duration
}

// End is when the fault is mended.
func (f Fault) End() time.Duration { return f.At + f.For }

// String is one line for people.
func (f Fault) String() string {
	return fmt.Sprintf("%3d  %7.2fs  %-14s %s for %v", f.N, f.At.Seconds(), f.Kind, f.target(), f.For)
}

func (f Fault) target() string {
	switch traitOf(f.Kind).lane {
	case laneAgent:
		return fmt.Sprintf("agent %d", f.Target+1)
	case laneNATS:
		return fmt.Sprintf("node %d", f.Target+1)
	case laneBroker:
	}
	return "broker"
}

func traitOf(k Kind) trait {
	for _, t := range traits() {
		if t.kind == k {
			return t
		}
	}
	return trait{}
}

// How long a lane rests after a fault, so that the next one meets a system that
// has had the time to notice and to recover.
const (
	restBroker = 2 * time.Second
	restAgent  = time.Second
	restNATS   = 8 * time.Second
)

// Make draws a schedule.
func Make(o Options) []Fault {
	d := &drawer{o: o, rng: rand.New(rand.NewPCG(o.Seed, 0xc4a05)), agents: make([]time.Duration, o.Agents)}
	list := make([]Fault, 0, o.Faults)
	at := time.Duration(0)
	for n := 1; n <= o.Faults; n++ {
		at += span{o.Every / 2, o.Every * 3 / 2}.draw(d.rng)
		f := d.next(at)
		f.N = n
		at = f.At
		list = append(list, f)
	}
	return list
}

// drawer remembers until when each lane is taken.
type drawer struct {
	o      Options
	rng    *rand.Rand
	bag    []trait
	broker time.Duration
	nats   time.Duration
	agents []time.Duration
}

// next draws the first fault of the bag that can strike at a time, or, when all
// lanes are taken, a little later.
func (d *drawer) next(at time.Duration) Fault {
	for ; ; at += 500 * time.Millisecond {
		d.fill()
		for i, t := range d.bag {
			target, ok := d.free(t.lane, at)
			if !ok {
				continue
			}
			d.bag = append(d.bag[:i], d.bag[i+1:]...)
			f := Fault{At: at, Kind: t.kind, Target: target, For: t.spans[d.rng.IntN(len(t.spans))].draw(d.rng)}
			d.take(t.lane, f)
			return f
		}
	}
}

// fill keeps at least one round of every kind in the bag, the first time each
// kind just once, so that also a short run meets most of them.
func (d *drawer) fill() {
	first := d.bag == nil
	if len(d.bag) > len(traits()) {
		return
	}
	var more []trait
	for _, t := range traits() {
		n := t.weight
		if first {
			n = 1
		}
		for range n {
			if t.kind != FullDisk || !d.o.NoDisk {
				more = append(more, t)
			}
		}
	}
	d.rng.Shuffle(len(more), func(i, j int) { more[i], more[j] = more[j], more[i] })
	d.bag = append(d.bag, more...)
}

// free finds a target of a lane.
func (d *drawer) free(l lane, at time.Duration) (target int, ok bool) {
	switch l {
	case laneBroker:
		return 0, at >= d.broker
	case laneNATS:
		return d.rng.IntN(d.o.Nodes), at >= d.nats
	case laneAgent:
	}
	var idle []int
	for i, until := range d.agents {
		if at >= until {
			idle = append(idle, i)
		}
	}
	if len(idle) < 2 { // one agent is left alone
		return 0, false
	}
	return idle[d.rng.IntN(len(idle))], true
}

func (d *drawer) take(l lane, f Fault) {
	switch l {
	case laneBroker:
		d.broker = f.End() + restBroker
	case laneNATS:
		d.nats = f.End() + restNATS
	case laneAgent:
		d.agents[f.Target] = f.End() + restAgent
	}
}

// Count is how many faults of each kind a schedule has.
func Count(list []Fault) map[Kind]int {
	n := map[Kind]int{}
	for _, f := range list {
		n[f.Kind]++
	}
	return n
}

// End is when the last fault of a schedule is mended.
func End(list []Fault) time.Duration {
	end := time.Duration(0)
	for _, f := range list {
		end = max(end, f.End())
	}
	return end
}
