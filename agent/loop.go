package agent

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"fairlead/agent/engine"
	"fairlead/internal/store"
)

// Why an execution ends before its engine does.
var (
	errCancelled = errors.New("cancelled by the broker")
	errAborted   = errors.New("the agent is leaving")
	errDeadline  = errors.New("the deadline of the request has passed")
	errUnheard   = errors.New("nobody listens to the result")
)

// loop is a running agent: the goroutine that owns everything here, and the
// channels through which the world speaks to it.
type loop struct {
	*Agent
	st          *store.Store
	incarnation uint64
	epoch       uint64 // highest seen in a command
	ledger      *ledger
	unreadable  map[uint64]bool // claims by sequence that are no use
	pulls       *puller
	beat        *beat
	health      health
	scrapes     scrapes   // what the engine says of its load
	hold        time.Time // the engine said busy until then
	draining    bool
	superseded  bool
	pace        pace // learned from first tokens
	tells       bool // the engine says by itself when a prefill has ended
	auditing    bool // an audit is under way
	surplus     int  // audits in a row that found deliveries which never arrived
	lost        int  // claims that could not be settled before the end

	inbox    string // starts the subjects of answers to this agent
	subs     []*nats.Subscription
	answers  chan *nats.Msg // to pulls
	commands chan *nats.Msg
	silences chan *nats.Msg // chunks that nobody listened to
	links    chan nats.Status
	reports  chan report   // from jobs
	renewed  chan error    // from the renewal of the consumer
	checks   chan health   // from the health check
	loads    chan scrape   // from the engine's own word about its load
	audits   chan int      // claims delivered, as the server counts
	sick     chan struct{} // asks for a health check at once
	closed   chan struct{} // nobody reads the others any more

	// life is the jobs' context, leave the one in which they settle: it outlives
	// life by the leave grace, so that work can be given back.
	life, leave       context.Context
	endLife, endLeave context.CancelCauseFunc
	tasks             sync.WaitGroup // everything started here
}

func newLoop(a *Agent, st *store.Store, incarnation uint64) *loop {
	l := &loop{
		Agent: a, st: st, incarnation: incarnation,
		ledger: newLedger(), unreadable: map[uint64]bool{}, beat: newBeat(a.cfg.Heartbeat),
		answers:  make(chan *nats.Msg, 4*a.cfg.slots()+64),
		commands: make(chan *nats.Msg, 256),
		silences: make(chan *nats.Msg, 256),
		reports:  make(chan report, 64),
		renewed:  make(chan error, 1),
		checks:   make(chan health, 1),
		loads:    make(chan scrape, 1),
		audits:   make(chan int, 1),
		sick:     make(chan struct{}, 1),
		closed:   make(chan struct{}),
		health:   health{err: errUnchecked},
		scrapes:  scrapes{every: scrapeEvery(a.cfg.Heartbeat)},
	}
	l.life, l.endLife = context.WithCancelCause(context.Background())
	l.leave, l.endLeave = context.WithCancelCause(context.Background())
	l.inbox = st.NC.NewInbox()
	l.pulls = &puller{
		st: st, slots: a.cfg.slots(), answers: l.answers,
		// Whoever knows the name of a consumer can pull from it: the last part keeps
		// it from being guessed.
		name:   fmt.Sprintf("agent-%s-%d-%s", a.cfg.Worker, incarnation, rand.Text()),
		filter: st.Names.Work(a.cfg.Worker, incarnation),
	}
	l.links = st.NC.StatusChanged(nats.CONNECTED, nats.RECONNECTING, nats.CLOSED)
	return l
}

// subscribe opens the ears. The consumer follows in run.
func (l *loop) subscribe() error {
	for _, s := range []struct {
		subject string
		to      chan *nats.Msg
	}{
		{l.st.Names.Agent(l.cfg.Worker, l.incarnation), l.commands},
		{l.silenceSubject("*", "*"), l.silences},
	} {
		sub, err := l.st.NC.ChanSubscribe(s.subject, s.to)
		if err != nil {
			return fmt.Errorf("subscribe to %s: %w", s.subject, err)
		}
		l.subs = append(l.subs, sub)
	}
	return nil
}

// close ends everything that still runs, and waits for it.
func (l *loop) close() {
	close(l.closed)
	l.endLife(errAborted)
	l.endLeave(errAborted)
	l.tasks.Wait()
	for _, sub := range append(l.subs, l.pulls.sub) {
		if sub == nil {
			continue
		}
		_ = sub.Unsubscribe() // fails only when the connection is closed, and then it is gone
	}
	l.st.NC.RemoveStatusListener(l.links)
}

// run is the agent's life; see [Agent.Run].
func (l *loop) run(stop, abort context.Context) error {
	l.tasks.Go(func() { l.watchEngine(l.life) })
	if eng, tells := l.cfg.Engine.(engine.Loader); tells {
		l.tasks.Go(func() { l.watchLoad(l.life, eng) })
	}
	l.renew()
	stopped, aborted := stop.Done(), abort.Done()
	for !l.over() {
		select {
		case m := <-l.answers:
			l.answer(m)
		case m := <-l.commands:
			l.command(m)
		case m := <-l.silences:
			l.silence(m)
		case s := <-l.links:
			if err := l.link(s); err != nil {
				return err
			}
		case r := <-l.reports:
			l.report(r)
		case err := <-l.renewed:
			l.renewal(err)
		case h := <-l.checks:
			l.checked(h)
		case s := <-l.loads:
			l.scraped(s)
		case n := <-l.audits:
			l.audited(n)
		case <-l.beat.due():
			l.pulse()
		case <-stopped:
			stopped = nil
			l.drain()
		case <-aborted:
			aborted = nil
			l.abort()
		}
		l.advance()
	}
	return l.farewell()
}

// over says that there is nothing left to do.
func (l *loop) over() bool { return (l.draining || l.superseded) && len(l.ledger.entries) == 0 }

// advance starts what can start, and keeps as many pulls open as there are free
// slots, and one more: a claim that is delivered again must find one. What comes
// beyond the slots waits here; that it stays little is the broker's business.
func (l *loop) advance() {
	if l.superseded {
		return
	}
	if l.draining {
		l.ask(min(len(l.ledger.entries), 1))
		return
	}
	for l.ledger.running < l.cfg.slots() {
		e := l.ledger.start()
		if e == nil {
			break
		}
		l.launch(e)
	}
	free := l.cfg.slots() - l.ledger.running - len(l.ledger.queue)
	l.ask(max(free, 0) + 1)
}

func (l *loop) ask(pulls int) {
	if err := l.pulls.fill(pulls, time.Now()); err != nil {
		l.cfg.Log.Warn().Err(err).Msg("cannot ask for work")
	}
}

// link reacts to the connection: what was on the wire when it broke comes again
// from a consumer made anew, and silences of that time mean nothing.
func (l *loop) link(s nats.Status) error {
	switch s {
	case nats.CLOSED:
		return errors.New("agent: the connection to NATS was closed")
	case nats.CONNECTED:
		for _, e := range l.ledger.entries {
			e.job.hearing.reset()
		}
		l.renew()
		l.beat.changed()
	case nats.RECONNECTING:
		l.notReady(l.incarnation, errors.New("not connected to NATS"))
	}
	return nil
}

// renew makes the consumer anew in the background. One that is under way is
// broken off: its requests may have been lost with a connection.
func (l *loop) renew() {
	if err := l.pulls.reset(); err != nil {
		l.cfg.Log.Warn().Err(err).Msg("cannot ask for work") // the connection is closed, and will tell
		return
	}
	if l.pulls.renewing {
		l.pulls.again = true
		l.pulls.breakOff()
		return
	}
	ctx, cancel := context.WithCancel(l.leave)
	l.pulls.renewing, l.pulls.breakOff = true, cancel
	pause := time.Until(l.pulls.made.Add(renewPause))
	l.tasks.Go(func() {
		defer cancel()
		select {
		case <-time.After(pause):
		case <-ctx.Done():
		}
		l.renewed <- insist(ctx, l.pulls.renew, l.complain("make the consumer"))
	})
}

// renewal takes in that the consumer is there.
func (l *loop) renewal(err error) {
	again := l.pulls.again
	l.pulls.renewing, l.pulls.again = false, false
	switch {
	case again:
		l.renew()
	case err != nil: // the agent is at its end, or its connection is
	default:
		l.pulls.existing, l.pulls.made = true, time.Now()
		l.notReady(l.incarnation, l.unfit())
		l.beat.changed()
	}
}
