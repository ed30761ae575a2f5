package broker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"golang.org/x/sync/errgroup"

	"fairlead/broker/arbiter"
	"fairlead/policy"
	"fairlead/wire"
)

// term is one broker's time as leader, from written guards to the loss of the
// lease. Its loop owns the arbiter; see the package's documentation.
type term struct {
	b        *Broker
	lease    *lease
	group    *errgroup.Group
	ctx      context.Context // ends with the term
	cancel   context.CancelFunc
	arb      *arbiter.Arbiter
	events   chan arbiter.Event
	asks     chan func() // questions for the loop
	fence    *fence
	clean    *cleaner
	does     *jobs         // verdicts to carry out, claims to delete
	dead     *jobs         // dead letters to keep
	early    chan struct{} // full of cancels that wait for their request to be read
	intake   *intake
	open     int // fenced writes under way
	ctl      []*nats.Subscription
	asked    map[uint64]*nats.Msg // cancels by token
	token    uint64
	recovery time.Duration // that the term began with
	broken   error         // why the term must end
	winding  bool          // nothing more is decided
	reply    struct {      // of the request that arrived last: most refusals are for it
		id uint64
		to string
	}
}

func newTerm(b *Broker, l *lease, p *policy.Policy) *term {
	t := &term{
		b: b, lease: l, events: make(chan arbiter.Event, 4096), asks: make(chan func(), 16),
		fence: newFence(l), asked: map[uint64]*nats.Msg{},
		// One guard is left to the term itself, which saves deficits with it.
		arb: arbiter.New(arbiter.Config{
			Policy: p, Epoch: l.epoch, Guards: wire.Guards - 1, Overload: b.cfg.Overload, Seed: l.epoch,
		}),
	}
	var ctx context.Context
	ctx, t.cancel = context.WithCancel(context.Background())
	t.group, t.ctx = errgroup.WithContext(ctx)
	t.clean = newCleaner(b)
	t.does, t.dead, t.early = newJobs(), newJobs(), make(chan struct{}, maxEarly)
	t.intake = newIntake(t)
	return t
}

// run leads until stop ends, without an error, or the term does. It waits for
// everything that it started, and gives the lease back.
func (t *term) run(stop context.Context) error {
	defer t.cancel()
	t.group.Go(func() error { return t.lease.keep(t.ctx) })
	for k := range wire.Guards {
		t.group.Go(func() error { return t.fence.guard(t.ctx, k) })
	}
	t.group.Go(func() error { return t.clean.run(t.ctx) })
	t.group.Go(func() error { return t.watchStreams(t.ctx) })
	t.does.start(t.ctx, t.group, jobWorkers)
	t.dead.start(t.ctx, t.group, deadWorkers)
	t.group.Go(func() error { return t.recover(t.ctx) })
	t.group.Go(func() error {
		defer t.cancel() // when the loop ends, nobody decides
		return t.loop(stop)
	})
	err := t.group.Wait()
	if !errors.Is(err, errDeposed) {
		t.handOver()
	}
	t.closeCtl()
	t.intake.stop()
	return err
}

// handOver lets a standby lead at once. What this term still has under way is fenced.
func (t *term) handOver() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if err := t.lease.release(ctx); err != nil {
		t.b.log.Warn().Err(err).Msg("the lease was not given back; it ends by itself")
	}
}

// post gives the loop an event; it waits while the loop is behind.
func (t *term) post(ev arbiter.Event) {
	select {
	case t.events <- ev:
	case <-t.ctx.Done():
	}
}

// ask runs fn in the loop.
func (t *term) ask(fn func()) {
	select {
	case t.asks <- fn:
	case <-t.ctx.Done():
	}
}

// loop feeds the arbiter until the term ends, or stop asks for a clean end.
func (t *term) loop(stop context.Context) error {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	saves := time.NewTicker(t.b.cfg.Timing.Renew)
	defer saves.Stop()
	for {
		if at, ok := t.arb.NextDeadline(); ok {
			timer.Reset(max(0, time.Until(at)))
		} else {
			timer.Reset(time.Hour)
		}
		select {
		case <-t.ctx.Done():
			return nil
		case <-stop.Done():
			t.wind()
			return nil
		case ev := <-t.events:
			if err := t.step(ev); err != nil {
				return err
			}
		case fn := <-t.asks:
			if fn(); t.broken != nil {
				return t.broken
			}
		case <-timer.C:
			if err := t.step(arbiter.Tick{}); err != nil {
				return err
			}
		case <-saves.C:
			t.save()
		}
	}
}

// wind ends a term cleanly: nothing more is decided, what is being stored is
// waited for, and deficits and cursors are left to the next leader.
func (t *term) wind() {
	t.winding = true
	t.b.set(roleStopped, t.lease.epoch, errors.New("stopping"))
	t.settle()
	if t.arb.Recovered() {
		t.save()
		t.settle()
	}
}

// settle waits until no fenced write is under way. Events are dropped: the next
// leader reads in the streams what they say.
func (t *term) settle() {
	limit := time.NewTimer(t.b.cfg.Timing.Renew)
	defer limit.Stop()
	for t.open > 0 {
		select {
		case <-t.ctx.Done():
			return
		case <-limit.C:
			return
		case ev := <-t.events:
			t.count(ev)
		case fn := <-t.asks:
			fn()
		}
	}
}

// count notes the end of a fenced write.
func (t *term) count(ev arbiter.Event) {
	switch ev.(type) {
	case arbiter.HandedOut, arbiter.VerdictStored:
		t.open--
	}
}

// step tells the arbiter what happened and does what it decides.
func (t *term) step(ev arbiter.Event) error {
	recovered := t.arb.Recovered()
	t.count(ev)
	t.note(ev)
	for _, act := range t.arb.Step(time.Now(), ev) {
		if recovered { // what a predecessor finished, it has counted
			t.b.metrics.observe(act)
		}
		if err := t.do(act); err != nil {
			return err
		}
	}
	if !recovered && t.arb.Recovered() {
		t.begin()
	}
	return nil
}

// note remembers what the shell itself needs of an event.
func (t *term) note(ev arbiter.Event) {
	switch ev := ev.(type) {
	case arbiter.Arrived:
		t.reply.id, t.reply.to = ev.ID, ev.Request.ReplyTo
		t.clean.arrived(ev.ID)
	case arbiter.Recovered:
		t.clean.readTo(t.intake.req.end)
	case arbiter.Done:
		t.clean.seen(ev.Seq, ev.Done.ID, ev.Done.Status)
	}
}

// begin is called when recovery is over.
func (t *term) begin() {
	t.b.set(roleLeader, t.lease.epoch, nil)
	t.b.log.Info().Uint64("epoch", t.lease.epoch).Int("pending", t.arb.Pending()).Msg("leading")
}

// do carries out one action. It does not block.
func (t *term) do(act arbiter.Action) error {
	switch act := act.(type) {
	case arbiter.HandOut:
		t.handOut(act)
	case arbiter.StoreVerdict:
		t.storeVerdict(act)
	case arbiter.End:
		t.carryOut(act)
	case arbiter.Finish:
		t.finish(act)
	case arbiter.DropClaim:
		t.does.add(func(ctx context.Context) { t.dropClaims(ctx, act.Seq) })
	case arbiter.ReleaseDone:
		t.clean.release(act.Seq)
	case arbiter.SyncDone:
		t.does.add(func(ctx context.Context) { t.syncDone(ctx, arbiter.DoneSynced(act)) })
	case arbiter.CheckClaim:
		t.does.add(func(ctx context.Context) { t.checkClaim(ctx, act) })
	case arbiter.Command:
		t.command(act)
	case arbiter.CancelAnswer:
		t.answerCancel(act)
	case arbiter.Notice:
		t.notice(act)
	case arbiter.Relead:
		return fmt.Errorf("recovering anew: %s", act.Why)
	default:
		return fmt.Errorf("the arbiter asks for a %T, which this broker cannot do", act)
	}
	return nil
}

func (t *term) command(act arbiter.Command) {
	subject := t.b.cfg.Names.Agent(act.Worker, act.Incarnation)
	if err := t.b.cfg.Conn.Publish(subject, wire.Encode(&act.Command)); err != nil {
		t.b.log.Debug().Err(err).Str("subject", subject).Msg("command not sent; the next heartbeat repeats it")
	}
}

func (t *term) notice(n arbiter.Notice) {
	log := t.b.log.Debug()
	switch n.Kind {
	case arbiter.NoticeWorkerJoined, arbiter.NoticeWorkerLeft:
		log = t.b.log.Info()
	case arbiter.NoticeWorkerLost, arbiter.NoticeSuperseded:
		log = t.b.log.Warn()
	case arbiter.NoticeUnknownClass:
		if t.b.metrics.sometimes(n.Kind) {
			log = t.b.log.Warn()
		}
	}
	if n.ID != 0 {
		log = log.Uint64("id", n.ID)
	}
	for _, f := range [...]struct{ key, value string }{
		{"model", n.Model}, {"class", n.Class}, {"worker", n.Worker}, {"detail", n.Detail},
	} {
		if f.value != "" {
			log = log.Str(f.key, f.value)
		}
	}
	log.Msg(string(n.Kind))
}
