package drr

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"testing"

	"fairlead/trace"
)

// server runs dispatched work on a number of slots in virtual time: a cost takes as long as it is large.
type server struct {
	s     *Scheduler
	slots int // 0 = never full
	now   int64
	ends  []int64 // of what is running
}

func (v *server) gate(int, Target, *Entry) Answer { return when(v.slots == 0 || len(v.ends) < v.slots) }

// next dispatches an entry. When the slots are full it polls once, as a live broker would, then waits for
// the first slot to come free.
func (v *server) next() *Entry {
	e := v.s.Next(v.gate)
	for e == nil && len(v.ends) > 0 {
		v.finish()
		e = v.s.Next(v.gate)
	}
	if e != nil && v.slots > 0 {
		v.ends = append(v.ends, v.now+e.Cost())
	}
	return e
}

func (v *server) finish() {
	first := 0
	for i, end := range v.ends {
		if end < v.ends[first] {
			first = i
		}
	}
	v.now = max(v.now, v.ends[first])
	v.ends[first] = v.ends[len(v.ends)-1]
	v.ends = v.ends[:len(v.ends)-1]
	v.s.Recheck(0)
}

// mix is a cost mix: what the n-th request of a class costs.
type mix struct {
	name   string
	quanta []int64
	cost   func(class, n int) int64
}

func mixes(t *testing.T) []mix {
	rng := rand.New(rand.NewPCG(7, 7))
	lognormal := make([]int64, 4096)
	for i := range lognormal {
		lognormal[i] = 1 + int64(math.Exp(6+1.0857*rng.NormFloat64()))
	}
	mooncake := mooncakeCosts(t)
	return []mix{
		{"2Q and 3Q", []int64{100, 100}, func(c, _ int) int64 { return []int64{200, 300}[c] }},
		{"10Q and 11Q", []int64{100, 100}, func(c, _ int) int64 { return []int64{1000, 1100}[c] }},
		{"weighted", []int64{2048, 512}, func(int, int) int64 { return 512 }},
		{"lognormal", []int64{2048, 512, 700}, func(c, n int) int64 { return lognormal[(n*(c+3)+c)%len(lognormal)] }},
		{"heavy against light", []int64{512, 512}, func(c, n int) int64 {
			return []int64{lognormal[n%len(lognormal)], 1}[c]
		}},
		{"mooncake", []int64{8192, 4096}, func(c, n int) int64 { return mooncake[(n+c*len(mooncake)/2)%len(mooncake)] }},
	}
}

// mooncakeCosts returns the uncached tokens of a public trace: whole where it lies beside the checkout, else
// the slice that is shipped.
func mooncakeCosts(t *testing.T) []int64 {
	t.Helper()
	f, err := os.Open("../../shared/traces/mooncake_conversation.jsonl")
	if err != nil {
		f, err = os.Open("../trace/sample/mooncake_conversation.jsonl")
	}
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	requests, err := trace.ReadMooncake(f, "mooncake", 0)
	if err != nil {
		t.Fatal(err)
	}
	costs := make([]int64, len(requests))
	for i, r := range requests {
		costs[i] = max(1, int64(r.Input-r.Cached))
	}
	return costs
}

// backlog keeps every class of a mix at three requests.
type backlog struct {
	server
	mix     mix
	n       []int
	seq     uint64
	largest []int64 // cost offered, by class
}

func newBacklog(m mix, slots int) *backlog {
	b := &backlog{mix: m, n: make([]int, len(m.quanta)), largest: make([]int64, len(m.quanta))}
	var classes []Class
	for i, q := range m.quanta {
		classes = append(classes, Class{Name: fmt.Sprint(i), Quantum: q})
	}
	b.s, b.slots = must(classes), slots
	for range 3 {
		for i := range classes {
			b.put(i, new(Entry))
		}
	}
	return b
}

func (b *backlog) put(class int, e *Entry) {
	b.seq++
	b.n[class]++
	cost := b.mix.cost(class, b.n[class])
	b.largest[class] = max(b.largest[class], cost)
	e.Seq, e.Arrival, e.Raw = b.seq, int64(b.seq), uint32(cost)
	b.s.Enqueue(class, Shared, e)
}

// TestShare checks the bound on every interval: a difference of prefixes that stays within a band of the bound's
// width keeps it between any two points in time.
func TestShare(t *testing.T) {
	for _, m := range mixes(t) {
		for _, slots := range []int{0, 1, 4} {
			t.Run(fmt.Sprintf("%s/slots=%d", m.name, slots), func(t *testing.T) {
				b := newBacklog(m, slots)
				served := make([]float64, len(m.quanta)) // in quanta
				spread := make([]band, len(m.quanta)*len(m.quanta))
				for range 60_000 {
					e := b.next()
					class := e.Class()
					served[class] += float64(e.Cost()) / float64(m.quanta[class])
					b.put(class, e)
					for i := range served {
						spread[class*len(served)+i].include(served[class] - served[i])
					}
					if d := b.s.Deficit(class); d > m.quanta[class]+b.largest[class] {
						t.Fatalf("deficit %d of class %d is over its quantum and largest cost", d, class)
					}
				}
				b.checkSpread(t, served, spread)
			})
		}
	}
}

type band struct{ low, high float64 }

func (b *band) include(x float64) { b.low, b.high = min(b.low, x), max(b.high, x) }

func (b *backlog) checkSpread(t *testing.T, served []float64, spread []band) {
	quanta, total, quantum := b.mix.quanta, 0.0, 0.0
	for i, s := range served {
		total += s * float64(quanta[i])
		quantum += float64(quanta[i])
	}
	for i := range served {
		if got, want := served[i]*float64(quanta[i])/total, float64(quanta[i])/quantum; math.Abs(got/want-1) > .005 {
			t.Errorf("class %d had %.4f of the service, want %.4f", i, got, want)
		}
		for j := range i {
			ij, ji := spread[i*len(served)+j], spread[j*len(served)+i]
			low, high := min(ij.low, -ji.high), max(ij.high, -ji.low)
			bound := 1 + float64(b.largest[i])/float64(quanta[i]) + float64(b.largest[j])/float64(quanta[j])
			if high-low > bound {
				t.Errorf("classes %d and %d drifted %.2f rounds apart on an interval, bound %.2f", i, j, high-low, bound)
			}
		}
	}
}

// TestNewcomer: small requests that overtake a large one in its own class must not eat its credit for ever.
func TestNewcomer(t *testing.T) {
	s := must([]Class{{Name: "mixed", Quantum: 1000, Order: WSPT}, {Name: "rival", Quantum: 1000}})
	seq := uint64(0)
	put := func(class int, cost uint32) {
		seq++
		s.Enqueue(class, Shared, &Entry{Seq: seq, Arrival: int64(seq), Raw: cost})
	}
	put(0, 20_000)
	put(1, 1000)
	for rivals := 0; rivals <= 21; {
		e := s.Next(open)
		switch {
		case e.Cost() == 20_000:
			return
		case e.Class() == 1:
			rivals++
			put(1, 1000)
			put(0, 1)
		}
	}
	t.Error("the large request did not run within 21 dispatches of its rival")
}

// TestHeadLatency: while a head of cost L waits, each other class gets at most ⌈L/Q⌉ visits and one request.
func TestHeadLatency(t *testing.T) {
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 2))
		quanta := make([]int64, 2+rng.IntN(5))
		for i := range quanta {
			quanta[i] = 1 + rng.Int64N(500)
		}
		costs := make([]int64, 997)
		for i := range costs {
			costs[i] = 1 + rng.Int64N(1+rng.Int64N(4000))
		}
		b := newBacklog(mix{quanta: quanta, cost: func(c, n int) int64 { return costs[(n*7+c*131)%len(costs)] }}, 0)
		others := make([]int64, len(quanta)) // tokens that others had since the class was served
		for range 2000 {
			e := b.next()
			class, cost := e.Class(), e.Cost()
			bound := int64(0)
			for j, q := range quanta {
				if j != class {
					bound += (cost+quanta[class]-1)/quanta[class]*q + b.largest[j]
					others[j] += cost
				}
			}
			if others[class] > bound {
				t.Fatalf("seed %d: others had %d tokens while a head of %d waited, bound %d", seed, others[class], cost, bound)
			}
			others[class] = 0
			b.put(class, e)
		}
	}
}

// TestPremiumRegular: 320 requests each of 512 tokens, four slots, all queued before the worker comes.
func TestPremiumRegular(t *testing.T) {
	for _, row := range []struct{ regular, premiumFirst, premiumSlack, left int }{
		{128, 256, 2, 240}, {512, 160, 4, 0},
	} {
		v := server{slots: 4, s: must([]Class{
			{Name: "premium", Quantum: 512}, {Name: "regular", Quantum: int64(row.regular)},
		})}
		for i := range 640 {
			v.s.Enqueue(i/320, Shared, &Entry{Seq: uint64(i), Arrival: int64(i), Raw: 512})
		}
		premium, first := 0, 0
		for n := 1; n <= 640; n++ {
			if v.next().Class() == 0 {
				premium++
			}
			if n == 320 {
				first = premium
			}
			if premium == 320 && row.left > 0 {
				if left := 640 - n; left < row.left-4 || left > row.left+4 {
					t.Errorf("%d regular requests left after the last premium one, want %d ± 4", left, row.left)
				}
				break
			}
		}
		if first < row.premiumFirst-row.premiumSlack || first > row.premiumFirst+row.premiumSlack {
			t.Errorf("regular quantum %d: %d premium in the first 320, want %d ± %d",
				row.regular, first, row.premiumFirst, row.premiumSlack)
		}
	}
}
