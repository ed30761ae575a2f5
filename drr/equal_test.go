package drr

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

// rig drives a scheduler and the textbook through the same events. Every decision is drawn from pick(n),
// a number in [0, n), so that seeds, rapid and the fuzzer can all steer it.
type rig struct {
	pick     func(n int) int
	classes  []Class
	real     *Scheduler
	plain    *textbook
	queued   map[uint64]*Entry
	order    []uint64 // the sequences queued, to pick from
	out      []*Entry // dispatched and not yet finished
	busy     []bool   // by worker, and for shared lanes
	seq      uint64
	now      int64
	refunded bool
	allShut  bool // the gate says so when it is true
	largest  int64
	fail     func(format string, args ...any)
}

const (
	rigWorkers = 4
	rigTenants = 4
)

func newRig(pick func(int) int, fail func(string, ...any)) *rig {
	g := &rig{now: 1e10, pick: pick, fail: fail, queued: map[uint64]*Entry{}, busy: make([]bool, rigWorkers+1)}
	for i := range 1 + pick(5) {
		c := Class{Name: fmt.Sprint("c", i), Quantum: int64(1 + pick(40)), Order: Order(pick(3))}
		if c.Order == WSPT && pick(2) == 0 {
			c.Aging, c.Rate = float64(int(1)<<pick(4)), float64(int(1)<<pick(4))
		}
		if c.Tenants = pick(2) == 0; c.Tenants && pick(2) == 0 {
			weights := []float64{1, float64(1 + pick(4)), .5, float64(1+pick(9)) / 7}
			c.Weight = func(tenant uint32) float64 { return weights[tenant] }
		}
		g.classes = append(g.classes, c)
	}
	g.allShut = pick(2) == 0
	g.plain = newTextbook(g.classes, rigTenants)
	g.real = g.fresh()
	return g
}

func (g *rig) fresh() *Scheduler {
	s, err := New(g.classes)
	if err != nil {
		g.fail("New: %v", err)
	}
	for i := range g.classes {
		s.SetSurcharge(i, g.plain.classes[i].surcharge)
	}
	return s
}

// gate lets an exact head go unless its worker is busy, and a shared one unless all workers that it may use are;
// which those are depends on the entry.
func (g *rig) gate(_ int, t Target, e *Entry) Answer {
	if t.Worker >= 0 {
		return when(!g.busy[t.Worker])
	}
	if g.busy[rigWorkers] && g.allShut {
		return AllShut
	}
	for w, busy := range g.busy {
		if !busy && (e.Seq%3 == 0 || w%2 == int(e.Seq)%2) {
			return Open
		}
	}
	return Shut
}

func (g *rig) step() {
	switch g.pick(18) {
	case 0, 1, 2, 3:
		g.arrive()
	case 4, 5, 6, 7, 8, 9:
		g.next()
	case 10:
		g.busy[g.pick(rigWorkers+1)] = true
	case 11:
		w := g.pick(rigWorkers)
		g.busy[w], g.busy[rigWorkers] = false, g.pick(2) == 0
		g.real.Recheck(int32(w))
		g.plain.recheck(int32(w))
	case 12:
		clear(g.busy)
		g.recheckAll()
	case 13:
		g.cancel()
	case 14:
		g.giveBack()
	case 15:
		g.takeOver()
	case 16:
		g.correct()
	case 17:
		class, tokens := g.pick(len(g.classes)), int64(g.pick(30))
		g.real.SetSurcharge(class, tokens)
		g.plain.classes[class].surcharge = tokens
	}
	g.compare()
}

func (g *rig) arrive() {
	g.seq++
	g.now += int64(g.pick(3)) * 5e8
	e := &Entry{Seq: g.seq, Arrival: g.now - int64(g.pick(4))*5e8, Raw: uint32(g.pick(90)), Cached: uint32(g.pick(30)), Tenant: uint32(g.pick(rigTenants))}
	if g.pick(4) == 0 {
		e.Strict = uint32(g.pick(3))
	}
	if g.pick(3) == 0 {
		e.Jump = float64(int(1)<<g.pick(4)) - 1
	}
	if g.pick(2) == 0 {
		e.Deadline = int64(1 + g.pick(1000))
	}
	t := Shared
	if g.pick(3) > 0 {
		t = Target{Worker: int32(g.pick(rigWorkers)), Rank: int32(g.pick(3)) - 1}
	}
	g.largest = max(g.largest, e.Cost()+30)
	g.enqueue(g.pick(len(g.classes)), t, e)
}

func (g *rig) enqueue(class int, t Target, e *Entry) {
	g.plain.enqueue(class, t, *e)
	g.real.Enqueue(class, t, e)
	g.queued[e.Seq] = e
	g.order = append(g.order, e.Seq)
}

func (g *rig) next() {
	got, want := g.real.Next(g.gate), uint64(0)
	e, charged, ok := g.plain.next(g.gate)
	if ok {
		want = e.Seq
	}
	if got == nil {
		if want != 0 {
			g.fail("Next returned nothing, the textbook %d", want)
		}
		return
	}
	if got.Seq != want || got.Queued() {
		g.fail("Next returned %d (queued %v), the textbook %d", got.Seq, got.Queued(), want)
	}
	if g.real.Charged() != charged {
		g.fail("entry %d was charged %d, by the textbook %d", got.Seq, g.real.Charged(), charged)
	}
	g.gone(got.Seq)
	g.out = append(g.out, got)
	if g.pick(3) == 0 {
		g.busy[g.pick(rigWorkers)] = true
	}
}

func (g *rig) gone(seq uint64) {
	delete(g.queued, seq)
	for i, s := range g.order {
		if s == seq {
			g.order = append(g.order[:i], g.order[i+1:]...)
			return
		}
	}
}

func (g *rig) cancel() {
	if len(g.order) == 0 {
		return
	}
	seq := g.order[g.pick(len(g.order))]
	g.real.Remove(g.queued[seq])
	g.plain.remove(seq)
	g.gone(seq)
}

// giveBack ends the run of a dispatched request: its tokens come back, and half the time the request too, in
// either order.
func (g *rig) giveBack() {
	if len(g.out) == 0 {
		return
	}
	e := g.out[len(g.out)-1]
	g.out = g.out[:len(g.out)-1]
	class, t := e.Class(), e.Target()
	again := g.pick(4)
	if again == 0 {
		g.enqueue(class, t, e)
	}
	g.charge(class, e.Tenant, -e.Cost())
	if again == 1 {
		g.enqueue(class, t, e)
	}
}

func (g *rig) charge(class int, tenant uint32, tokens int64) {
	g.refunded = g.refunded || tokens < 0
	g.real.Charge(class, tenant, tokens)
	g.plain.charge(class, tenant, tokens)
}

func (g *rig) correct() {
	g.charge(g.pick(len(g.classes)), uint32(g.pick(rigTenants)), int64(g.pick(160)-90))
}

func (g *rig) recheckAll() {
	g.real.RecheckAll()
	g.plain.recheck(-1)
}

// takeOver replaces the scheduler by a successor that got the backlog in another order.
func (g *rig) takeOver() {
	if g.pick(4) > 0 {
		return
	}
	successor := g.fresh()
	for i := range g.order {
		j := i + g.pick(len(g.order)-i)
		g.order[i], g.order[j] = g.order[j], g.order[i]
		old := g.queued[g.order[i]]
		e := &Entry{Seq: old.Seq, Arrival: old.Arrival, Deadline: old.Deadline, Jump: old.Jump,
			Strict: old.Strict, Raw: old.Raw, Cached: old.Cached, Tenant: old.Tenant}
		successor.Enqueue(old.Class(), old.Target(), e)
		g.queued[e.Seq] = e
	}
	successor.Restore(g.real.Snapshot())
	g.real = successor
	g.plain.succeed()
}

// drain opens every worker and empties both.
func (g *rig) drain() {
	for g.real.Len() > 0 {
		clear(g.busy)
		g.recheckAll()
		before := g.real.Len()
		g.next()
		if g.real.Len() == before {
			g.fail("nothing dispatched with every worker open and %d queued", before)
			return
		}
	}
	g.compare()
}

func TestEqualsTextbook(t *testing.T) {
	for seed := range uint64(1000) {
		rng := rand.New(rand.NewPCG(seed, 1))
		g := newRig(rng.IntN, func(format string, args ...any) {
			t.Fatalf("seed %d: "+format, append([]any{seed}, args...)...)
		})
		for range 40 + g.pick(200) {
			g.step()
		}
		g.drain()
	}
}

func TestEqualsTextbookShrinking(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		g := newRig(func(n int) int { return rapid.IntRange(0, n-1).Draw(rt, "pick") }, rt.Fatalf)
		for range rapid.IntRange(0, 80).Draw(rt, "steps") {
			g.step()
		}
		g.drain()
	})
}

func FuzzEqualsTextbook(f *testing.F) {
	f.Add([]byte("\x01\x05\x00\x07\x02\x01\x00\x00\x40\x00\x00\x00\x04\x04\x05"))
	f.Add([]byte("\x03\x02\x01\x01\x01\x01\x00\x02\x0a\x0d\x0e\x0f\x04\x04\x04\x0b\x04"))
	f.Fuzz(func(t *testing.T, script []byte) {
		at := 0
		g := newRig(func(n int) int {
			if at == len(script) {
				return 0
			}
			at++
			return int(script[at-1]) % n
		}, t.Fatalf)
		for steps := 0; at < len(script) && steps < 400; steps++ {
			g.step()
		}
		g.drain()
	})
}
