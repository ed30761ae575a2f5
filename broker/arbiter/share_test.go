package arbiter

import (
	"container/heap"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"fairlead/policy"
	"fairlead/wire"
)

// pool is the simplest world: the store answers at once and workers work. It is
// for tests about who is served when; sim_test.go is about what goes wrong.
type pool struct {
	t       *testing.T
	arb     *Arbiter
	now     time.Duration
	queue   events
	queued  int
	last    uint64 // request asked
	service func(tokens int64) (first, whole time.Duration)
	usage   func(h *HandOut) wire.Usage // as the engine reports it
	out     func(h *HandOut)            // observes dispatches
	done    func(class string)          // observes completions
	seq     map[string]uint64           // of heartbeats
	flights map[string][]wire.InFlight  // by worker
	slots   int
}

func newPool(t *testing.T, p *policy.Policy) *pool {
	s := &pool{t: t, arb: New(Config{Policy: p}), seq: map[string]uint64{}, flights: map[string][]wire.InFlight{}, slots: 4}
	s.service = func(int64) (time.Duration, time.Duration) { return 50 * time.Millisecond, 200 * time.Millisecond }
	s.usage = func(*HandOut) wire.Usage { return wire.Usage{} }
	s.out, s.done = func(*HandOut) {}, func(string) {}
	s.step(Recovered{})
	return s
}

func (s *pool) clock() time.Time { return base.Add(s.now) }

func (s *pool) after(d time.Duration, fn func()) {
	s.queued++
	heap.Push(&s.queue, happening{s.now + d, s.queued, fn})
}

func (s *pool) step(ev Event) {
	for _, act := range append([]Action(nil), s.arb.Step(s.clock(), ev)...) {
		switch act := act.(type) {
		case HandOut:
			s.out(&act)
			s.work(act)
		case StoreVerdict:
			if act.Verdict.Reason != wire.NoWorker {
				s.t.Fatalf("at %v: %+v", s.now, act.Verdict)
			}
			s.after(0, func() { s.step(VerdictStored{Seq: act.Verdict.ID, Verdict: act.Verdict}) })
		case End:
			s.after(0, func() { s.step(Ended{ID: act.Verdict.ID}) })
		}
	}
}

func (s *pool) work(h HandOut) {
	c := h.Claim
	first, whole := s.service(int64(c.Input - c.Cached))
	s.after(0, func() { s.step(HandedOut{ID: c.ID, Attempt: c.Attempt, Seq: c.ID}) })
	s.flights[h.Worker] = append(s.flights[h.Worker], wire.InFlight{ID: c.ID, Attempt: c.Attempt, Claim: c.ID})
	s.after(first, func() {
		s.step(Progress{wire.Event{Kind: wire.EventFirstToken, Worker: h.Worker, Incarnation: 1, ID: c.ID, Attempt: 1}})
	})
	s.after(whole, func() {
		list := s.flights[h.Worker]
		for i := range list {
			if list[i].ID == c.ID {
				s.flights[h.Worker] = append(list[:i:i], list[i+1:]...)
			}
		}
		d := wire.Done{ID: c.ID, Attempt: 1, Claim: c.ID, Worker: h.Worker, Incarnation: 1, Status: wire.StatusOK, Usage: s.usage(&h)}
		s.step(Done{Seq: c.ID, Done: d})
		s.done(c.Class)
	})
}

func (s *pool) ask(class string, tokens int64, allow ...string) {
	s.request(wire.Request{Class: class, Input: uint32(tokens), Allow: allow})
}

// request asks for the only model there is.
func (s *pool) request(q wire.Request) {
	s.last++
	q.Model, q.Rank = "m", wire.AnyRank
	s.step(Arrived{ID: s.last, At: s.clock(), Request: q})
}

// join makes a worker report every second from now on.
func (s *pool) join(name string) {
	s.seq[name]++
	s.step(Beat{wire.Heartbeat{
		Worker: name, Incarnation: 1, Seq: s.seq[name], IntervalMS: 1000, Healthy: true, Models: []string{"m"}, Ranks: 1,
		Slots: uint32(s.slots), InFlight: s.flights[name],
	}})
	s.after(time.Second, func() { s.join(name) })
}

// run lets things happen until enough says so.
func (s *pool) run(enough func() bool) {
	for !enough() {
		if len(s.queue) == 0 || s.now > 1000*time.Hour {
			s.t.Fatalf("nothing happens any more, at %v", s.now)
		}
		h := heap.Pop(&s.queue).(happening)
		s.now = h.at
		h.fn()
	}
}

// twoClasses is a policy of premium and regular.
func twoClasses(premium, regular, threshold int64) *policy.Policy {
	p := policy.Default()
	p.Root.DefaultFamily = "regular"
	p.Root.Classes = nil
	for _, c := range []policy.Class{{Name: "premium", Quantum: premium}, {Name: "regular", Quantum: regular}} {
		c.Family, c.Bucket, c.NoWorkerGrace, c.PinGrace = c.Name, "all", policy.DefaultNoWorkerGrace, policy.DefaultPinGrace
		if threshold > 0 {
			c.PrefillBusyThreshold = &threshold
		}
		p.Root.Classes = append(p.Root.Classes, c)
	}
	return p
}

// TestPremiumRegular: 320 requests of each class wait before a worker of four
// slots joins.
func TestPremiumRegular(t *testing.T) {
	for _, c := range []struct {
		name                 string
		premium, regular     int64
		want, slack          int // premium in the first 320
		wantLeft, slackLeft  int // regular left when the last premium completes
		skewed, variableTime bool
	}{
		{name: "premium-regular", premium: 512, regular: 128, want: 256, slack: 2, wantLeft: 240, slackLeft: 4},
		{name: "one class after the other", premium: 512, regular: 128, want: 256, slack: 2, wantLeft: 240, slackLeft: 4, skewed: true},
		{name: "engines vary", premium: 512, regular: 128, want: 256, slack: 2, wantLeft: 240, slackLeft: 4, variableTime: true},
		{name: "equal", premium: 512, regular: 512, want: 160, slack: 4, wantLeft: 0, slackLeft: 4},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newPool(t, twoClasses(c.premium, c.regular, 1536))
			rng := rand.New(rand.NewPCG(1, 2))
			if c.variableTime {
				s.service = func(int64) (time.Duration, time.Duration) {
					first := time.Duration(rng.IntN(100)) * time.Millisecond
					return first, first + time.Duration(rng.IntN(400))*time.Millisecond
				}
			}
			completed := map[string]int{}
			first320, left := 0, -1
			s.done = func(class string) {
				completed[class]++
				if completed["premium"]+completed["regular"] == 320 {
					first320 = completed["premium"]
				}
				if class == "premium" && completed[class] == 320 {
					left = 320 - completed["regular"]
				}
			}
			for i := range 640 {
				class := []string{"premium", "regular"}[i%2]
				if c.skewed {
					class = []string{"regular", "premium"}[i/320]
				}
				s.ask(class, 512)
			}
			s.join("w1")
			s.run(func() bool { return completed["premium"]+completed["regular"] == 640 })
			if d := first320 - c.want; d < -c.slack || d > c.slack {
				t.Errorf("%d premium in the first 320 completions, want %d ± %d", first320, c.want, c.slack)
			}
			if d := left - c.wantLeft; d < -c.slackLeft || d > c.slackLeft {
				t.Errorf("%d regular left when premium is drained, want %d ± %d", left, c.wantLeft, c.slackLeft)
			}
			t.Logf("%d premium in the first 320, %d regular left", first320, left)
		})
	}
}

// TestShareOnEveryInterval: for two classes that are always backlogged, on every
// interval |Sᵢ/Qᵢ − Sⱼ/Qⱼ| ≤ 1 + Mᵢ/Qᵢ + Mⱼ/Qⱼ, S being the tokens handed out and M
// the largest cost.
func TestShareOnEveryInterval(t *testing.T) {
	lognormal := func(rng *rand.Rand) int64 { return int64(min(100_000, 1+2000*math.Exp(1.0857*rng.NormFloat64()))) }
	constant := func(n int64) func(*rand.Rand) int64 { return func(*rand.Rand) int64 { return n } }
	for _, c := range []struct {
		qi, qj int64
		costs  [2]func(*rand.Rand) int64
		about  string
	}{
		{1000, 1000, [2]func(*rand.Rand) int64{constant(2000), constant(3000)}, "2Q and 3Q"},
		{1000, 1000, [2]func(*rand.Rand) int64{constant(10000), constant(11000)}, "10Q and 11Q"},
		{2048, 512, [2]func(*rand.Rand) int64{lognormal, lognormal}, "lognormal"},
		{512, 128, [2]func(*rand.Rand) int64{constant(512), lognormal}, "constant against lognormal"},
	} {
		for _, slots := range []int{1, 4, 64} {
			for _, workers := range []int{1, 3} {
				t.Run(fmt.Sprintf("%s, %d slots, %d workers", c.about, slots, workers), func(t *testing.T) {
					sharing{policy: twoClasses(c.qi, c.qj, 0), costs: c.costs, slots: slots, workers: workers}.test(t)
				})
			}
		}
	}
}

// TestShareAmongHelpless: what nobody can serve earns its class nothing, though
// one such request comes with every dispatch of the rival.
func TestShareAmongHelpless(t *testing.T) {
	cost := func(*rand.Rand) int64 { return 700 }
	for _, slots := range []int{1, 4} {
		sharing{twoClasses(1000, 1000, 0), [2]func(*rand.Rand) int64{cost, cost}, slots, 1, true}.test(t)
	}
}

// sharing is a test of shares between the two classes of a policy.
type sharing struct {
	policy         *policy.Policy
	costs          [2]func(*rand.Rand) int64
	slots, workers int
	helpless       bool // the first class asks for what nobody may serve as well
}

func (c sharing) test(t *testing.T) {
	const dispatches = 4000
	rng := rand.New(rand.NewPCG(7, uint64(c.slots)))
	s := newPool(t, c.policy)
	s.slots = c.slots
	s.service = func(tokens int64) (time.Duration, time.Duration) {
		d := time.Duration(float64(tokens) * (0.5 + rng.Float64()) * float64(time.Millisecond))
		return d / 2, d
	}
	classes := c.policy.Root.Classes
	var served, largest [2]float64
	low, high, n := 0.0, 0.0, 0
	refill := func(i int) {
		cost := c.costs[i](rng)
		largest[i] = max(largest[i], float64(cost))
		s.ask(classes[i].Name, cost)
	}
	s.out = func(h *HandOut) {
		i := 0
		if h.Claim.Class == classes[1].Name {
			i = 1
		}
		n++
		served[i] += float64(h.Cost)
		d := served[0]/float64(classes[0].Quantum) - served[1]/float64(classes[1].Quantum)
		low, high = min(low, d), max(high, d)
		s.after(0, func() { refill(i) })
		if c.helpless && i == 1 {
			s.after(0, func() { s.ask(classes[0].Name, 5000, "nobody") })
		}
	}
	for range 10 + 4*c.slots*c.workers { // deep enough to stay backlogged through a burst of hand-outs
		refill(0)
		refill(1)
	}
	for i := range c.workers {
		s.join(fmt.Sprintf("w%d", i))
	}
	s.run(func() bool { return n >= dispatches })
	bound := 1 + largest[0]/float64(classes[0].Quantum) + largest[1]/float64(classes[1].Quantum)
	if high-low > bound {
		t.Errorf("on some interval the shares are %.2f apart, want at most %.2f", high-low, bound)
	}
	if low == high {
		t.Error("nothing was served")
	}
	long := served[0] / float64(classes[0].Quantum) / (served[1] / float64(classes[1].Quantum))
	t.Logf("apart by %.2f of %.2f; in the long run %.4f", high-low, bound, long)
}
