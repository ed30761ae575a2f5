package plan

import (
	"math/rand/v2"
	"time"
)

// Kind is a kind of fault.
type Kind string

// The kinds of fault. "Leader" is the broker that leads when the fault strikes.
const (
	KillLeader    Kind = "kill-leader"    // kill -9, started again after For
	KillStandby   Kind = "kill-standby"   // the same for one that stands by
	KillBrokers   Kind = "kill-brokers"   // all of them at once
	FreezeLeader  Kind = "freeze-leader"  // SIGSTOP, SIGCONT after For
	StopLeader    Kind = "stop-leader"    // SIGTERM, started again after For
	CutLeader     Kind = "cut-leader"     // its connection breaks, no other until For is over
	HoleLeader    Kind = "hole-leader"    // its connection goes silent for For
	KillAgent     Kind = "kill-agent"     //
	FreezeAgent   Kind = "freeze-agent"   //
	StopAgent     Kind = "stop-agent"     //
	TwinAgent     Kind = "twin-agent"     // a second one with the same worker id, while the first still runs
	CutAgent      Kind = "cut-agent"      //
	HoleAgent     Kind = "hole-agent"     //
	SlowEngine    Kind = "slow-engine"    // the agent starts again with an engine that is slow, and after For with a sound one
	HangingEngine Kind = "hanging-engine" // the same: half of the requests hang
	DyingEngine   Kind = "dying-engine"   // the same: some answers break off
	BusyEngine    Kind = "busy-engine"    // the same: refuses with Retry-After
	Poison        Kind = "poison"         // a request that kills every agent which starts it
	KillNATS      Kind = "kill-nats"      //
	FreezeNATS    Kind = "freeze-nats"    //
	StopNATS      Kind = "stop-nats"      //
	CutNATS       Kind = "cut-nats"       // all routes of one node break
	HoleNATS      Kind = "hole-nats"      // all routes of one node go silent
	FullDisk      Kind = "full-disk"      // the store of one node has no room left
)

// lane is what faults must have for themselves: two faults of one lane never
// overlap. Each agent is a lane of its own.
type lane uint8

const (
	laneBroker lane = iota
	laneAgent
	laneNATS
)

// trait is what the schedule knows of a kind.
type trait struct {
	kind   Kind
	lane   lane
	weight int
	spans  []span // one of them is drawn
}

// span is a range of durations.
type span struct{ min, max time.Duration }

func (s span) draw(rng *rand.Rand) time.Duration {
	return (s.min + time.Duration(rng.Int64N(int64(s.max-s.min)))).Round(10 * time.Millisecond)
}

func seconds(lo, hi float64) span {
	return span{time.Duration(lo * float64(time.Second)), time.Duration(hi * float64(time.Second))}
}

// traits lists the kinds. What is frozen is so for less or for more than the
// lease (5 s) and the limit after which a silent worker is lost (3 s).
func traits() []trait {
	short, long := seconds(0.5, 2), seconds(6, 9)
	blink := []span{short}
	either := []span{short, long}
	return []trait{
		{KillLeader, laneBroker, 4, blink},
		{KillStandby, laneBroker, 1, blink},
		{KillBrokers, laneBroker, 2, blink},
		{FreezeLeader, laneBroker, 4, either},
		{StopLeader, laneBroker, 3, blink},
		{CutLeader, laneBroker, 2, either},
		{HoleLeader, laneBroker, 2, either},
		{KillAgent, laneAgent, 5, either},
		{FreezeAgent, laneAgent, 4, either},
		{StopAgent, laneAgent, 2, either},
		{TwinAgent, laneAgent, 2, []span{seconds(1, 2)}},
		{CutAgent, laneAgent, 2, either},
		{HoleAgent, laneAgent, 2, either},
		{SlowEngine, laneAgent, 1, []span{long}},
		{HangingEngine, laneAgent, 1, []span{long}},
		{DyingEngine, laneAgent, 1, []span{long}},
		{BusyEngine, laneAgent, 1, []span{long}},
		{Poison, laneAgent, 1, []span{long}},
		{KillNATS, laneNATS, 3, either},
		{FreezeNATS, laneNATS, 2, either},
		{StopNATS, laneNATS, 2, blink},
		{CutNATS, laneNATS, 2, either},
		{HoleNATS, laneNATS, 2, either},
		{FullDisk, laneNATS, 1, []span{seconds(4, 7)}},
	}
}
