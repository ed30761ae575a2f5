package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"fairlead/chaos/check"
	"fairlead/chaos/load"
	"fairlead/chaos/plan"
	"fairlead/chaos/rig"
	"fairlead/chaos/tape"
	"fairlead/client"
	"fairlead/internal/store"
	"fairlead/wire"
)

// options are a run's settings.
type options struct {
	faults int
	seed   uint64
	rate   float64
	every  time.Duration
	dir    string
	keep   bool
	race   bool
}

// How large the system under test is.
const (
	brokers   = 3
	agents    = 4
	nodes     = 3
	frontends = 2
)

// Limits of the parts of a run in which something must come to pass.
const (
	bootPatience  = 90 * time.Second
	endPatience   = 90 * time.Second // for outcomes, after the last fault
	emptyPatience = 60 * time.Second // for streams and bookings, after the last outcome
)

// run is one run from an empty folder to a judgement.
type run struct {
	o       options
	out     *printer
	rig     *rig.Rig
	store   *store.Store
	clients []*client.Client
	tape    *tape.Recorder
	load    *load.Load
	claimed func(check.Claim) // hears of every claim, beside the load; nil for nobody
	before  baseline
	start   time.Time
	closers []func()
}

// errViolations says that promises were broken; what they are has been printed.
var errViolations = errors.New("promises were broken")

// chaos makes one run and prints what it found.
func chaos(ctx context.Context, o options, w io.Writer) (*check.Report, error) {
	began := time.Now()
	if o.dir == "" {
		dir, err := os.MkdirTemp("", "fairlead-chaos-")
		if err != nil {
			return nil, err
		}
		o.dir = dir
	}
	if err := os.MkdirAll(o.dir, 0o755); err != nil {
		return nil, fmt.Errorf("--dir: %w", err)
	}
	r := &run{o: o, out: &printer{w: w}}
	r.out.line("chaos: seed %d, %d faults, %.0f requests/s, in %s", o.seed, o.faults, o.rate, o.dir)
	defer r.close()
	if err := r.boot(ctx); err != nil {
		return nil, fmt.Errorf("the system does not start, see %s: %w", o.dir, err)
	}
	schedule := r.schedule()
	d := r.play(ctx, schedule)
	if ctx.Err() != nil {
		return nil, fmt.Errorf("broken off, see %s: %w", o.dir, context.Cause(ctx))
	}
	report, err := r.judge(ctx, d)
	if err != nil {
		return nil, fmt.Errorf("the run cannot be judged, see %s: %w", o.dir, err)
	}
	r.out.result(&result{o: o, schedule: schedule, spared: d.spared, counts: r.load.Counts(), report: report, took: time.Since(began), dir: o.dir})
	if len(report.Violations) > 0 {
		return report, errViolations
	}
	if !o.keep {
		r.close() // unmounts first
		return report, os.RemoveAll(o.dir)
	}
	return report, nil
}

// boot starts everything and waits until it is idle and ready.
func (r *run) boot(ctx context.Context) (err error) {
	ctx, cancel := context.WithTimeout(ctx, bootPatience)
	defer cancel()
	r.rig, err = rig.Build(rig.Options{Dir: r.o.dir, Brokers: brokers, Agents: agents, Nodes: nodes, Seed: r.o.seed, Race: r.o.race})
	if err != nil {
		return err
	}
	r.defers(func() {
		if err := r.rig.Close(); err != nil {
			r.out.line("clean up: %v", err)
		}
	})
	if r.rig.DiskErr != nil {
		r.out.line("SKIPPED: no disk is filled in this run: %v", r.rig.DiskErr)
	}
	if err := r.rig.StartNodes(); err != nil {
		return err
	}
	if err := r.streams(ctx); err != nil {
		return err
	}
	if err := r.rig.StartDaemons(ctx); err != nil {
		return err
	}
	if err := r.listen(); err != nil {
		return err
	}
	r.before, err = measure(ctx, r.rig)
	return err
}

// streams makes the streams as the brokers would, and arms them for the tape.
func (r *run) streams(ctx context.Context) error {
	nc, err := nats.Connect(r.rig.URL(), store.Reconnect("chaos")...)
	if err != nil {
		return err
	}
	r.defers(nc.Close)
	if r.store, err = store.Open(nc, wire.Names{}); err != nil {
		return err
	}
	var last error
	err = rig.Until(ctx, 250*time.Millisecond, func() bool {
		try, cancel := context.WithTimeout(ctx, 5*time.Second)
		defer cancel()
		last = r.store.Ensure(try, store.Options{Replicas: nodes})
		return last == nil
	})
	if err != nil {
		return errors.Join(last, err)
	}
	return tape.Arm(ctx, r.store)
}

// listen opens the frontends' connections and the tape.
func (r *run) listen() (err error) {
	for range frontends {
		c, err := client.Connect(r.rig.URL(), client.Config{})
		if err != nil {
			return err
		}
		r.clients = append(r.clients, c)
		r.defers(c.Close)
	}
	r.start = time.Now()
	r.load = load.New(load.Options{Seed: r.o.seed, Rate: r.o.rate, Workers: agents, Start: r.start}, r.clients)
	r.tape, err = tape.Record(r.rig.URLs(), r.start, func(c check.Claim) {
		r.load.Claimed(c)
		if r.claimed != nil {
			r.claimed(c)
		}
	})
	if err == nil {
		r.defers(r.tape.Close)
	}
	return err
}

func (r *run) schedule() []plan.Fault {
	return plan.Make(plan.Options{
		Seed: r.o.seed, Faults: r.o.faults, Agents: agents, Nodes: nodes, Every: r.o.every, NoDisk: r.rig.DiskErr != nil,
	})
}

// play runs load and faults beside each other, and then waits for outcomes.
func (r *run) play(ctx context.Context, schedule []plan.Fault) *director {
	d := &director{rig: r.rig, load: r.load, ask: r.clients[0], out: r.out, start: r.start, agents: make([]sync.Mutex, agents), whole: r.whole}
	asking, enough := context.WithCancel(ctx)
	defer enough()
	asked := make(chan struct{})
	go func() {
		defer close(asked)
		r.load.Run(asking)
	}()
	d.play(ctx, schedule)
	wait(ctx, r.o.every) // load without faults, to show that all goes on
	enough()
	<-asked
	r.out.line("     %s all is mended; the last outcomes are to come", r.since())
	ctx, cancel := context.WithTimeout(ctx, endPatience)
	defer cancel()
	r.load.Wait(ctx)
	return d
}

// since is the time of the run, as the schedule prints it.
func (r *run) since() string { return fmt.Sprintf("%7.2fs ", time.Since(r.start).Seconds()) }

func (r *run) defers(f func()) { r.closers = append(r.closers, f) }

// close undoes everything, the newest first. It may be called twice.
func (r *run) close() {
	for len(r.closers) > 0 {
		last := r.closers[len(r.closers)-1]
		r.closers = r.closers[:len(r.closers)-1]
		last()
	}
}
