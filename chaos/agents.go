package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"fairlead/chaos/plan"
	"fairlead/chaos/rig"
)

func (d *director) strikeAgent(f plan.Fault, hold func()) error {
	d.agents[f.Target].Lock()
	defer d.agents[f.Target].Unlock()
	p := d.rig.Agents[f.Target]
	switch f.Kind {
	case plan.KillAgent:
		return kill(p, hold)
	case plan.FreezeAgent:
		return freeze(p, hold)
	case plan.StopAgent:
		return d.stopAgent(p, hold)
	case plan.TwinAgent:
		return d.twin(f.Target, hold)
	case plan.CutAgent:
		return broken(d.rig.BreakAgent(f.Target, rig.Cut), hold)
	case plan.HoleAgent:
		return broken(d.rig.BreakAgent(f.Target, rig.Hole), hold)
	default:
		return d.sick(p, f.Kind, hold)
	}
}

func (d *director) stopAgent(p *rig.Process, hold func()) error {
	err := d.leave(p)
	hold()
	if berr := begin(p); berr != nil {
		return berr
	}
	return err
}

// exitUnsettled is how an agent ends that could not give back its work in time,
// because the store did not answer. It says so, and the broker sees to the rest.
const exitUnsettled = 1

// leave ends an agent cleanly. One that a poisoned request has killed meanwhile
// is gone already.
func (d *director) leave(p *rig.Process) error {
	if !p.Running() {
		return nil
	}
	code, err := p.Stop(stopPatience)
	if err == nil && code > exitUnsettled {
		err = fmt.Errorf("%s stopped with code %d", p.Name, code)
	}
	return err
}

// exitSuperseded is how an agent ends whose worker id another one has taken.
const exitSuperseded = 3

// twin starts a second agent under the same worker id. The first one must leave
// by itself; then the second one makes room for it again.
func (d *director) twin(i int, hold func()) error {
	first, second := d.rig.Agents[i], d.rig.Twins[i]
	ended := first.Ended()
	if err := second.Start(); err != nil {
		return err
	}
	code, err := first.Exit(ended, stopPatience)
	if err == nil && code >= 0 && code != exitSuperseded {
		err = fmt.Errorf("%s ended with code %d when its twin came, want %d", first.Name, code, exitSuperseded)
	}
	hold()
	if serr := d.leave(second); err == nil {
		err = serr
	}
	if berr := begin(first); berr != nil {
		return berr
	}
	return err
}

// sick runs an agent for a while with an engine that has something wrong.
func (d *director) sick(p *rig.Process, k plan.Kind, hold func()) error {
	fault := map[plan.Kind]string{
		plan.SlowEngine: "slow=0.5", plan.HangingEngine: "hang=0.5", plan.DyingEngine: "die=0.2", plan.BusyEngine: "refuse=0.5",
	}[k]
	err := d.leave(p)
	if serr := p.Start("--mock-fail", fault); serr != nil {
		return serr
	}
	hold()
	if lerr := d.leave(p); err == nil {
		err = lerr
	}
	if berr := begin(p); berr != nil {
		return berr
	}
	return err
}

// poisonEnds is how long a poisoned request may need to use up its attempts,
// whatever else happens meanwhile.
const poisonEnds = 3 * time.Minute

// poisonActs is how long a poisoned request is worked on before its worker dies:
// long enough for the broker to hear that it has started. One that kills faster
// is given up only after ten times as many attempts.
const poisonActs = 400 * time.Millisecond

// poison asks a request that kills every agent which takes it.
func (d *director) poison(ctx context.Context, f plan.Fault) {
	ctx, cancel := context.WithTimeout(ctx, poisonEnds)
	defer cancel()
	d.load.Poison(ctx, f.N, func(worker string) {
		if !wait(ctx, poisonActs) {
			return
		}
		i := slices.IndexFunc(d.rig.Agents, func(p *rig.Process) bool { return p.Name == "agent "+worker })
		d.rig.Twins[i].Kill()
		d.rig.Agents[i].Kill()
		if !d.agents[i].TryLock() {
			return // the fault that has it in hand starts it again
		}
		defer d.agents[i].Unlock()
		wait(ctx, 300*time.Millisecond)
		if err := begin(d.rig.Agents[i]); err != nil {
			d.note("after a poisoned request: %v", err)
		}
	})
}
