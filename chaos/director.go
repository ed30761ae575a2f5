package main

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"fairlead/chaos/load"
	"fairlead/chaos/plan"
	"fairlead/chaos/rig"
	"fairlead/client"
)

// director carries out a schedule. Each fault has a goroutine from its beginning
// to its end; the schedule keeps apart those that would get in each other's way.
type director struct {
	rig    *rig.Rig
	load   *load.Load
	ask    *client.Client // to learn who leads
	out    *printer
	start  time.Time
	agents []sync.Mutex                // held while a fault has an agent in hand
	nodes  sync.Mutex                  // held while a fault has a node in hand
	whole  func(context.Context) error // is nil when every replica is up to date
	wg     sync.WaitGroup

	mu     sync.Mutex // guards what follows
	wrong  []string   // what did not end as it should
	spared int        // faults that were not struck
}

// play runs the whole schedule and returns when its last fault is mended.
func (d *director) play(ctx context.Context, schedule []plan.Fault) {
	for _, f := range schedule {
		if !wait(ctx, time.Until(d.start.Add(f.At))) {
			break
		}
		d.out.line("%s", f)
		d.wg.Go(func() {
			if err := d.strike(ctx, f); err != nil {
				d.note("fault %d, %s: %v", f.N, f.Kind, err)
			}
		})
	}
	d.wg.Wait()
}

func wait(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

func (d *director) note(format string, args ...any) {
	what := fmt.Sprintf(format, args...)
	d.out.line("     ! %s", what)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.wrong = append(d.wrong, what)
}

// strike carries out one fault from its beginning to its end.
func (d *director) strike(ctx context.Context, f plan.Fault) error {
	hold := func() { wait(ctx, f.For) }
	switch f.Kind {
	case plan.KillLeader, plan.KillStandby, plan.KillBrokers, plan.FreezeLeader, plan.StopLeader, plan.CutLeader, plan.HoleLeader:
		return d.strikeBroker(ctx, f.Kind, hold)
	case plan.KillNATS, plan.FreezeNATS, plan.StopNATS, plan.CutNATS, plan.HoleNATS, plan.FullDisk:
		return d.strikeNode(ctx, f, hold)
	case plan.Poison:
		d.poison(ctx, f)
		return nil
	default:
		return d.strikeAgent(f, hold)
	}
}

// leader is the broker that leads, or the first one when none says so in time.
func (d *director) leader(ctx context.Context) int {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	s, err := d.ask.Status(ctx)
	if err != nil {
		return 0
	}
	return max(0, slices.IndexFunc(d.rig.Brokers, func(p *rig.Process) bool { return p.Name == "broker "+s.Leader }))
}

func (d *director) strikeBroker(ctx context.Context, k plan.Kind, hold func()) error {
	leader := d.leader(ctx)
	struck := d.rig.Brokers[leader : leader+1]
	switch k {
	case plan.KillStandby:
		other := (leader + 1) % len(d.rig.Brokers)
		struck = d.rig.Brokers[other : other+1]
	case plan.KillBrokers:
		struck = d.rig.Brokers
	case plan.FreezeLeader:
		return freeze(struck[0], hold)
	case plan.StopLeader:
		return restart(struck[0], hold)
	case plan.CutLeader:
		return broken(d.rig.BreakBroker(leader, rig.Cut), hold)
	case plan.HoleLeader:
		return broken(d.rig.BreakBroker(leader, rig.Hole), hold)
	default:
	}
	for _, p := range struck {
		p.Kill()
	}
	hold()
	return begin(struck...)
}

// wholePatience is how long a node may need to catch up after a fault.
const wholePatience = time.Minute

// strikeNode waits until the cluster is whole, however long the node before took
// to come back: two replicas in trouble are more than is promised to be survived.
func (d *director) strikeNode(ctx context.Context, f plan.Fault, hold func()) error {
	d.nodes.Lock()
	defer d.nodes.Unlock()
	began := time.Now()
	late, cancel := context.WithTimeout(ctx, wholePatience)
	defer cancel()
	err := rig.Until(late, 250*time.Millisecond, func() bool { return d.whole(late) == nil })
	if err != nil {
		d.spare(f, d.whole(ctx))
		return nil
	}
	if waited := time.Since(began); waited > time.Second {
		d.out.line("     fault %d waited %.1fs for NATS to be whole again", f.N, waited.Seconds())
	}
	node := d.rig.Nodes[f.Target]
	switch f.Kind {
	case plan.KillNATS:
		return kill(node, hold)
	case plan.FreezeNATS:
		return freeze(node, hold)
	case plan.StopNATS:
		return restart(node, hold)
	case plan.CutNATS:
		return broken(d.rig.BreakNode(f.Target, rig.Cut), hold)
	case plan.HoleNATS:
		return broken(d.rig.BreakNode(f.Target, rig.Hole), hold)
	default:
		return d.fullDisk(f.Target, hold)
	}
}

// spare leaves a fault out that would take more than is promised to be survived.
func (d *director) spare(f plan.Fault, why error) {
	d.out.line("     SKIPPED: fault %d, %s: NATS has not been whole for %v: %v", f.N, f.Kind, wholePatience, why)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.spared++
}

// fullDisk leaves a node no room. A server that meets this gives up JetStream
// until it is started again, which whoever frees the disk must do; it does not
// always end when it is asked to, so it is not asked.
func (d *director) fullDisk(i int, hold func()) error {
	free, err := d.rig.FillDisk(i)
	hold()
	if err != nil {
		return err
	}
	if err := free(); err != nil {
		return err
	}
	return kill(d.rig.Nodes[i], func() {})
}

func freeze(p *rig.Process, hold func()) error {
	p.Freeze()
	hold()
	p.Thaw()
	return nil
}

func kill(p *rig.Process, hold func()) error {
	p.Kill()
	hold()
	return begin(p)
}

// stopPatience is more than the grace that the daemons are given.
const stopPatience = 30 * time.Second

// restart ends a process cleanly and starts it again.
func restart(p *rig.Process, hold func(), args ...string) error {
	code, err := p.Stop(stopPatience)
	if err == nil && code != 0 {
		err = fmt.Errorf("%s stopped with code %d", p.Name, code)
	}
	hold()
	if serr := p.Start(args...); serr != nil {
		return serr
	}
	return err
}

func broken(mend, hold func()) error {
	hold()
	mend()
	return nil
}

// begin starts what does not run.
func begin(list ...*rig.Process) error {
	for _, p := range list {
		if p.Running() {
			continue
		}
		if err := p.Start(); err != nil {
			return err
		}
	}
	return nil
}
