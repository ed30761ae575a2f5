package arbiter

import (
	"container/heap"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"fairlead/policy"
	"fairlead/wire"
)

// TestSimulation runs the arbiter in a modelled world: streams, a shell, agents and
// clients, all random from a seed. Answers are late and out of order, heartbeats
// get lost, agents die or are only suspected, leaders are replaced. After every
// step the checks of sim_check_test.go must hold, and in the end each request has
// exactly one outcome and nothing is left anywhere.
func TestSimulation(t *testing.T) {
	runs := 1000
	if testing.Short() {
		runs = 200
	}
	total := tally{Reasons: map[wire.Reason]int{}}
	if *seedToTrace >= 0 {
		newWorld(t, uint64(*seedToTrace)).live()
		return
	}
	for seed := range uint64(runs) {
		w := newWorld(t, seed)
		w.live()
		total.add(w.tally)
	}
	t.Logf("%d runs: %+v", runs, total)
	total.mustAllHappen(t)
}

var seedToTrace = flag.Int("seed", -1, "run only the simulation of this seed, and print every step")

// world is everything around an arbiter.
type world struct {
	t      *testing.T
	seed   uint64
	rng    *rand.Rand
	now    time.Duration // since the beginning
	queue  events
	queued int // events ever, breaks ties
	calm   bool

	store  store
	agents []*agent
	policy *policy.Policy
	guards int

	arb    *Arbiter
	term   int // of the leader; answers to older ones are lost
	reader reader
	tokens uint64
	asked  map[uint64]uint64 // cancels to be answered: id by token
	tally  tally
}

// tally counts what happened, so that a simulation which never does something is noticed.
type tally struct {
	Asked, Finished, Ended, Dead, HandOuts, Returned, Requeued, Late, Cancels, Found int
	Lost, Terms, Reloads, Checks, Parked                                             int
	Reasons                                                                          map[wire.Reason]int // of verdicts
}

func (t *tally) fields() map[string]*int {
	return map[string]*int{
		"asked": &t.Asked, "finished": &t.Finished, "ended": &t.Ended, "dead": &t.Dead, "hand-outs": &t.HandOuts,
		"returned": &t.Returned, "requeued": &t.Requeued, "late": &t.Late, "cancels": &t.Cancels, "found": &t.Found,
		"lost": &t.Lost, "terms": &t.Terms, "reloads": &t.Reloads, "checks": &t.Checks, "parked": &t.Parked,
	}
}

func (t *tally) add(o tally) {
	mine, theirs := t.fields(), o.fields()
	for key := range mine {
		*mine[key] += *theirs[key]
	}
	for reason, n := range o.Reasons {
		t.Reasons[reason] += n
	}
}

func (t *tally) mustAllHappen(tt *testing.T) {
	for key, n := range t.fields() {
		if *n == 0 {
			tt.Errorf("the simulation never had any %s: it does not test them", key)
		}
	}
	for _, reason := range []wire.Reason{
		wire.InvalidRequest, wire.ModelNotFound, wire.QueueFull, wire.Cancelled, wire.WorkerLost, wire.AttemptsExhausted, wire.NoWorker,
		wire.WorkerGone, wire.DeadlineExceeded,
	} {
		if t.Reasons[reason] == 0 {
			tt.Errorf("the simulation never ended a request with %s", reason)
		}
	}
}

// happening is something that happens in the world at a time.
type happening struct {
	at    time.Duration
	order int
	fn    func()
}

type events []happening

func (e events) Len() int { return len(e) }
func (e events) Less(i, j int) bool {
	if e[i].at != e[j].at {
		return e[i].at < e[j].at
	}
	return e[i].order < e[j].order
}
func (e events) Swap(i, j int) { e[i], e[j] = e[j], e[i] }
func (e *events) Push(x any)   { *e = append(*e, x.(happening)) }
func (e *events) Pop() any {
	old := *e
	last := old[len(old)-1]
	*e = old[:len(old)-1]
	return last
}

func newWorld(t *testing.T, seed uint64) *world {
	w := &world{t: t, seed: seed, rng: rand.New(rand.NewPCG(seed, 1)), asked: map[uint64]uint64{}}
	w.tally.Reasons = map[wire.Reason]int{}
	w.guards = 1 + w.rng.IntN(6)
	w.policy = w.randomPolicy()
	w.store.init()
	for i := range 1 + w.rng.IntN(4) {
		a := &agent{w: w, name: fmt.Sprintf("w%d", i)}
		w.agents = append(w.agents, a)
		w.after(w.upTo(5*time.Second), a.start)
	}
	w.after(0, w.takeOver)
	return w
}

func (w *world) fail(format string, v ...any) {
	w.t.Helper()
	w.t.Fatalf("seed %d at %v: %s", w.seed, w.now, fmt.Sprintf(format, v...))
}

// base is when the world begins, by the clock.
var base = time.Unix(1_700_000_000, 0)

func (w *world) clock() time.Time { return base.Add(w.now) }

func (w *world) after(d time.Duration, fn func()) {
	w.queued++
	heap.Push(&w.queue, happening{w.now + d, w.queued, fn})
}

// soon is after a delay as a network or a store has it.
func (w *world) soon(fn func()) { w.after(w.upTo(80*time.Millisecond), fn) }

func (w *world) upTo(d time.Duration) time.Duration { return time.Duration(w.rng.Int64N(int64(d) + 1)) }

// chance is true with probability 1/n, and never once the world is calm.
func (w *world) chance(n int) bool { return !w.calm && w.rng.IntN(n) == 0 }

// live lets things happen for a while, then calms down and waits for all to end.
func (w *world) live() {
	busy := 10*time.Second + w.upTo(30*time.Second)
	for range 5 + w.rng.IntN(60) {
		w.after(w.upTo(busy), w.ask)
	}
	for range w.rng.IntN(3) {
		w.after(w.upTo(busy), w.takeOver)
	}
	for range w.rng.IntN(3) {
		w.after(w.upTo(busy), w.reload)
	}
	w.run(busy)
	w.calm = true
	w.run(busy + 5*time.Minute)
	w.checkEnd()
}

func (w *world) run(until time.Duration) {
	for len(w.queue) > 0 && w.queue[0].at <= until {
		h := heap.Pop(&w.queue).(happening)
		w.now = h.at
		h.fn()
	}
	w.now = until
}

// ask is a client that publishes a request and may change its mind.
func (w *world) ask() {
	w.tally.Asked++
	id := w.store.ask(w.randomRequest(), w.clock())
	w.soon(w.readReq)
	if w.chance(6) {
		w.after(w.upTo(10*time.Second), func() { w.cancel(id) })
	}
}

func (w *world) cancel(id uint64) {
	w.tally.Cancels++
	w.tokens++
	w.asked[w.tokens] = id
	w.step(Cancel{Token: w.tokens, ID: id})
}

func (w *world) reload() {
	w.tally.Reloads++
	w.policy = w.randomPolicy()
	w.step(PolicyChanged{Policy: w.policy})
}

// step tells the arbiter something and begins what it asks for.
func (w *world) step(ev Event) {
	recovered := w.arb.Recovered()
	acts := slices.Clone(w.arb.Step(w.clock(), ev))
	if *seedToTrace >= 0 {
		w.t.Logf("%12v %T%+v\n\t%s", w.now, ev, ev, strings.Join(printedAll(acts), "\n\t"))
	}
	w.check(ev, acts)
	for _, act := range acts {
		w.do(act)
	}
	if at, ok := w.arb.NextDeadline(); ok {
		w.tickAt(at)
	}
	if recovered && !w.arb.Recovered() {
		w.fail("recovered no more")
	}
}

func (w *world) tickAt(at time.Time) {
	term := w.term
	w.after(max(0, at.Sub(w.clock())), func() {
		if next, ok := w.arb.NextDeadline(); term != w.term || !ok || next.After(w.clock()) {
			return // another event was first
		}
		w.step(Tick{})
		if next, ok := w.arb.NextDeadline(); ok && !next.After(w.clock()) {
			w.fail("a tick changes nothing about its deadline")
		}
	})
}

// pick draws one of a list.
func pick[T any](w *world, list ...T) T { return list[w.rng.IntN(len(list))] }

func (w *world) randomPolicy() *policy.Policy {
	p := policy.Default()
	root := p.Root
	root.Classes = nil
	root.MaxAttempts = 1 + w.rng.IntN(3)
	root.Placement = pick(w, policy.LeastWork, policy.P2C, policy.RoundRobin, policy.Random)
	root.UnknownClass = pick(w, policy.UnknownDefault, policy.UnknownReject)
	root.DefaultFamily = "a"
	names := []string{"a", "b", "c", "d"}
	for _, name := range names[:1+w.rng.IntN(len(names))] {
		root.Classes = append(root.Classes, w.randomClass(name))
	}
	w.rng.Shuffle(len(root.Classes), func(i, j int) { root.Classes[i], root.Classes[j] = root.Classes[j], root.Classes[i] })
	return p
}

func (w *world) randomClass(name string) policy.Class {
	c := policy.Class{
		Name: name, Family: name, Bucket: "all", Quantum: 1 + w.rng.Int64N(2000), Order: pick(w, policy.FCFS, policy.WSPT, policy.EDF),
		NoWorkerGrace: w.upTo(20 * time.Second), PinGrace: w.upTo(10 * time.Second),
	}
	if w.chance(6) {
		c.NoWorkerGrace, c.PinGrace = 0, 0
	}
	if w.chance(3) {
		c.PrefillBusyThreshold = new(w.rng.Int64N(3000))
	}
	if w.chance(4) {
		c.PrefillBusyFrac = new(w.rng.Float64())
	}
	if w.chance(4) {
		c.BusyWorkerRatio = new(0.1 + 0.9*w.rng.Float64())
	}
	for _, l := range []**int64{&c.Limits.Requests, &c.Limits.RawTokens, &c.Limits.CachedTokens, &c.Limits.UncachedTokens} {
		if w.chance(12) {
			*l = new(w.rng.Int64N(10) * w.rng.Int64N(400))
		}
	}
	return c
}

func (w *world) randomRequest() wire.Request {
	q := wire.Request{
		Class: pick(w, "a", "a", "a", "b", "b", "c", "d", ""), Model: "m", Rank: wire.AnyRank,
		Input: uint32(w.rng.IntN(2000)), Retry: pick(w, wire.RetryAuto, wire.RetryAuto, wire.RetryAlways, wire.RetryNever),
		Priority: pick(w, 0, 0, 2.5), Strict: pick[uint32](w, 0, 0, 0, 1), NoQueue: w.chance(15),
	}
	if w.chance(6) {
		q.Model = pick(w, "n", "", "x")
	}
	if w.chance(20) {
		q.Class = "zebra"
	}
	q.Cached = uint32(w.rng.IntN(int(q.Input) + 1))
	if w.chance(8) {
		q.TTL = time.Second + w.upTo(10*time.Second)
	}
	if w.chance(4) {
		q.Worker, q.Pin = pick(w, "w0", "w0", "w1", "w2", "w9"), pick(w, wire.PinHard, wire.PinPrefer)
		q.Rank = pick[int32](w, wire.AnyRank, wire.AnyRank, 0, 0, 1)
	} else if w.chance(6) {
		q.Allow = pick(w, []string{"w1"}, []string{"w0", "w2"}, []string{"w8"})
	}
	if w.chance(10) {
		q.Require = pick(w, []string{"big"}, []string{"none"})
	}
	if w.chance(10) {
		q.Prefer = []string{"big"}
	}
	return q
}
