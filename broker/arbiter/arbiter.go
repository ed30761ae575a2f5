package arbiter

import (
	"math/rand/v2"
	"time"

	"fairlead/policy"
	"fairlead/wire"
)

// Config is fixed for the life of an arbiter. Zero values mean the defaults.
type Config struct {
	Policy *policy.Policy // default policy.Default()
	Epoch  uint64         // of this leader; stamped on claims, verdicts and commands
	Guards int            // fenced writes under way at once; default wire.Guards

	// LostAfter is how many heartbeat intervals in a row a worker may miss before
	// it counts as lost; default 3.
	LostAfter int
	// Reconnect is how much longer a worker may be silent that has not been heard
	// since recovery ended: an agent may need that long to find another server.
	// Default 2 s.
	Reconnect time.Duration
	// Overload says which workers are too loaded to get more; zero is off.
	Overload Overload
	// Seed makes random placement repeatable.
	Seed uint64
}

func (c Config) withDefaults() Config {
	if c.Policy == nil {
		c.Policy = policy.Default()
	}
	if c.Guards == 0 {
		c.Guards = wire.Guards
	}
	if c.LostAfter == 0 {
		c.LostAfter = 3
	}
	if c.Reconnect == 0 {
		c.Reconnect = 2 * time.Second
	}
	return c
}

// Arbiter is the state of one leader's term. It is not safe for concurrent use.
type Arbiter struct {
	cfg      Config
	now      int64 // of the present step, unix nanoseconds
	started  int64 // of the first step
	out      []Action
	free     int // guards without a write under way
	storing  int // guards with a verdict under way
	found    *findings
	saved    Saved // deficits of the predecessor, while requests wait for their model to be heard of
	requests map[uint64]*request
	highest  uint64 // id of the newest request seen
	lowest   uint64 // id of the oldest request ever seen by this arbiter

	rings    map[string]*ring
	order    []*ring // rings in order of creation; they take turns
	turn     int
	fleet    fleet
	tenants  *tenants
	judged   fifo[*request] // waiting for a guard to store their verdict
	verdicts map[uint64]*verdict
	hopeless []*request // heads that the present call of Next found too late
	unseen   []Done     // about requests beyond highest
	nowaits  []*request // to be dispatched as soon as there are guards to decide it, or refused
	expiry   deadlines
	losses   map[uint64][]*booking // by SyncDone token
	token    uint64
	able     []*worker // room for placement to draw from
	rng      *rand.Rand
}

// New returns an arbiter that waits for its recovery: see [Recovered].
func New(cfg Config) *Arbiter {
	cfg = cfg.withDefaults()
	return &Arbiter{
		cfg:      cfg,
		free:     cfg.Guards,
		found:    newFindings(),
		requests: map[uint64]*request{},
		rings:    map[string]*ring{},
		fleet:    newFleet(),
		tenants:  newTenants(),
		verdicts: map[uint64]*verdict{},
		losses:   map[uint64][]*booking{},
		rng:      rand.New(rand.NewPCG(cfg.Seed, cfg.Epoch)),
	}
}

// Step takes an event that happened at now and returns what is to be done. The
// slice is valid until the next call.
func (a *Arbiter) Step(now time.Time, ev Event) []Action {
	a.now = max(a.now, now.UnixNano())
	if a.started == 0 {
		a.started = a.now
	}
	clear(a.out)
	a.out = a.out[:0]
	a.handle(ev)
	if a.found == nil {
		a.onTime()
		a.dispatch()
	}
	return a.out
}

func (a *Arbiter) handle(ev Event) {
	switch ev := ev.(type) {
	case Arrived:
		a.arrive(ev)
	case ClaimFound:
		a.found.claim(ev)
	case VerdictFound:
		a.found.verdict(ev)
	case Recovered:
		a.recovered(ev)
	case Beat:
		a.beat(&ev.Heartbeat)
	case Progress:
		a.progress(&ev.Event)
	case Done:
		a.done(ev)
	case HandedOut:
		a.handedOut(ev)
	case VerdictStored:
		a.verdictStored(ev)
	case Ended:
		a.ended(ev.ID)
	case DoneSynced:
		a.doneSynced(ev.Token)
	case ClaimChecked:
		a.claimChecked(ev)
	case Cancel:
		a.cancel(ev)
	case PolicyChanged:
		a.reload(ev.Policy)
	case Tick:
	}
}

func (a *Arbiter) emit(act Action) { a.out = append(a.out, act) }

// Recovered reports whether recovery is over and the arbiter decides.
func (a *Arbiter) Recovered() bool { return a.found == nil }

// NextDeadline is when a [Tick] is due at the latest; ok is false when nothing
// waits for time to pass.
func (a *Arbiter) NextDeadline() (at time.Time, ok bool) {
	if a.found != nil {
		return time.Time{}, false
	}
	next := a.fleet.nextLoss
	next = earlier(next, a.fleet.nextHold)
	next = earlier(next, a.expiry.next())
	for _, r := range a.order {
		next = earlier(next, r.sweepAt)
	}
	if next == 0 {
		return time.Time{}, false
	}
	return time.Unix(0, next), true
}

// onTime does what is due at a.now.
func (a *Arbiter) onTime() {
	a.expire()
	if due(a.fleet.nextLoss, a.now) {
		a.loseSilent()
	}
	if due(a.fleet.nextHold, a.now) {
		a.releaseHolds()
	}
	for _, r := range a.order {
		if due(r.sweepAt, a.now) {
			a.sweep(r)
		}
	}
}

// Instants are unix nanoseconds; 0 is never.
func due(at, now int64) bool { return at != 0 && at <= now }

func earlier(a, b int64) int64 {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}
