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
	total := tally{Reasons: map[wire.Reason]int{}}
	if *seedToTrace >= 0 {
		newWorld(t, uint64(*seedToTrace)).live()
		return
	}
	for seed := range uint64(*runs) {
		w := newWorld(t, seed)
		w.live()
		total.add(w.tally)
	}
	t.Logf("%d runs: %+v", *runs, total)
	total.mustAllHappen(t)
}

// TestSimulationRepeats: an arbiter decides by its events alone, so the same world
// has the same history.
func TestSimulationRepeats(t *testing.T) {
	for seed := range uint64(60) {
		var history [2]strings.Builder
		for i := range history {
			w := newWorld(t, seed)
			w.record = &history[i]
			w.live()
		}
		a, b := strings.Split(history[0].String(), "\n"), strings.Split(history[1].String(), "\n")
		for i := range min(len(a), len(b)) {
			if a[i] != b[i] {
				t.Fatalf("seed %d, step %d:\n%s\nand again:\n%s", seed, i, a[i], b[i])
			}
		}
		if len(a) != len(b) || len(a) < 10 {
			t.Fatalf("seed %d: %d and %d steps", seed, len(a), len(b))
		}
	}
}

var (
	runs        = flag.Int("runs", 300, "how many worlds to simulate")
	seedToTrace = flag.Int("seed", -1, "run only the simulation of this seed, and print every step")
)

// world is everything around an arbiter.
type world struct {
	t      *testing.T
	seed   uint64
	rng    *rand.Rand
	now    time.Duration // since the beginning
	queue  events
	queued int // events ever, breaks ties
	calm   bool

	displaced map[uint64]bool
	corrected bool // some class had an output_weight at some time

	store    store
	agents   []*agent
	policy   *policy.Policy
	guards   int
	overload Overload

	arb    *Arbiter
	term   int // of the leader; answers to older ones are lost
	reader reader
	tokens uint64
	asked  map[uint64]uint64 // cancels to be answered: id by token
	tally  tally
	record *strings.Builder // of every step; nil for none
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
	w := &world{t: t, seed: seed, rng: rand.New(rand.NewPCG(seed, 1)), asked: map[uint64]uint64{}, displaced: map[uint64]bool{}}
	w.tally.Reasons = map[wire.Reason]int{}
	w.guards = 1 + w.rng.IntN(6)
	w.policy = w.randomPolicy()
	if w.chance(2) {
		w.overload = Overload{KV: 0.5 + 0.5*w.rng.Float64(), Waiting: w.rng.Int64N(6), PrefillTokens: w.rng.Int64N(2 * mostTokens)}
	}
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

// soon is after a delay as a network or a store has it: now and then a long one.
func (w *world) soon(fn func()) {
	delay := w.upTo(80 * time.Millisecond)
	if w.chance(15) {
		delay = w.upTo(4 * time.Second)
	}
	w.after(delay, fn)
}

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
	foretold := w.foretell(ev)
	recovered := w.arb.Recovered()
	acts := slices.Clone(w.arb.Step(w.clock(), ev))
	if w.record != nil {
		fmt.Fprintf(w.record, "%v %T %s\n", w.now, ev, strings.Join(printedAll(acts), "; "))
	}
	if *seedToTrace >= 0 {
		w.t.Logf("%12v %T%+v\n\t%s", w.now, ev, ev, strings.Join(printedAll(acts), "\n\t"))
	}
	w.check(ev, acts)
	w.checkForetold(ev, acts, foretold)
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
