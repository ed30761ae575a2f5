package plan

import (
	"reflect"
	"testing"
	"time"
)

func options(seed uint64, faults int) Options {
	return Options{Seed: seed, Faults: faults, Agents: 4, Nodes: 3, Every: 4 * time.Second}
}

func TestOneSeedIsOneSchedule(t *testing.T) {
	a, b := Make(options(7, 60)), Make(options(7, 60))
	if !reflect.DeepEqual(a, b) {
		t.Error("the same seed gives two schedules")
	}
	if reflect.DeepEqual(a, Make(options(8, 60))) {
		t.Error("two seeds give the same schedule")
	}
	if !reflect.DeepEqual(a[:20], Make(options(7, 20))) {
		t.Error("a shorter schedule is not the beginning of the longer one")
	}
}

func TestEveryKindStrikes(t *testing.T) {
	for seed := range uint64(20) {
		n := Count(Make(options(seed, 120)))
		for _, k := range traits() {
			if n[k.kind] == 0 {
				t.Errorf("seed %d: no %s among 120 faults", seed, k.kind)
			}
		}
	}
}

func TestNoDisk(t *testing.T) {
	o := options(3, 200)
	o.NoDisk = true
	if n := Count(Make(o))[FullDisk]; n != 0 {
		t.Errorf("%d full disks without a disk to fill", n)
	}
}

// What the promises rest on stays: checked for every pair of faults.
func TestFaultsLeaveRoom(t *testing.T) {
	for seed := range uint64(50) {
		list := Make(options(seed, 200))
		for i, f := range list {
			if f.N != i+1 || f.For <= 0 || i > 0 && f.At < list[i-1].At {
				t.Fatalf("seed %d: fault %d is out of order: %v", seed, i+1, f)
			}
			for _, g := range list[:i] {
				checkPair(t, f, g)
			}
			checkAgents(t, list[:i+1])
		}
	}
}

func checkPair(t *testing.T, f, before Fault) {
	t.Helper()
	lf, lb := traitOf(f.Kind).lane, traitOf(before.Kind).lane
	gap := f.At - before.End()
	switch {
	case lf != lb:
	case lf == laneNATS && gap < restNATS, lf == laneBroker && gap < restBroker:
		t.Errorf("%v\nfollows too soon on\n%v", f, before)
	case lf == laneAgent && f.Target == before.Target && gap < restAgent:
		t.Errorf("%v\nstrikes the agent of\n%v", f, before)
	}
}

// checkAgents counts the agents in trouble when the last fault strikes.
func checkAgents(t *testing.T, list []Fault) {
	t.Helper()
	at, n := list[len(list)-1].At, 0
	for _, f := range list {
		if traitOf(f.Kind).lane == laneAgent && f.End() > at {
			n++
		}
	}
	if n > 3 {
		t.Errorf("%d of 4 agents in trouble at %v", n, at)
	}
}

func TestFreezesAreShorterAndLongerThanLimits(t *testing.T) {
	short, long := 0, 0
	for _, f := range Make(options(1, 300)) {
		if f.Kind != FreezeLeader && f.Kind != FreezeAgent {
			continue
		}
		switch {
		case f.For < 3*time.Second:
			short++
		case f.For > 5*time.Second:
			long++
		}
	}
	if short < 5 || long < 5 {
		t.Errorf("%d freezes shorter than the limits, %d longer: want several of both", short, long)
	}
}
