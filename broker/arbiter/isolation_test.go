//go:build !race

package arbiter

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"fairlead/policy"
	"fairlead/wire"
)

// TestIsolation: premium asks for 17 % of the capacity and is entitled to four
// times regular's share. However much regular asks for, premium's p99 stays
// within 1.5 times of what it was; the median over 20 seeds is judged, because a
// single p99 is luck.
func TestIsolation(t *testing.T) {
	for _, flood := range []float64{2, 5, 10} {
		ratios := make([]float64, 20)
		for seed := range ratios {
			calm, flooded := premiumP99(t, uint64(seed), 1), premiumP99(t, uint64(seed), flood)
			ratios[seed] = flooded / calm
		}
		slices.Sort(ratios)
		median := (ratios[9] + ratios[10]) / 2
		t.Logf("regular × %v: premium's p99 × %.2f (%.2f to %.2f)", flood, median, ratios[0], ratios[19])
		if median > 1.5 {
			t.Errorf("regular × %v: premium's p99 grew to %.2f times", flood, median)
		}
	}
}

const fourToOne = `
default_policy_family: regular
uncached_isl_buckets: [{min_tokens: 0, bucket: all}]
policy_classes:
  - {name: premium, policy_family: premium, cache_bucket: all, quantum: 2048}
  - {name: regular, policy_family: regular, cache_bucket: all, quantum: 512}
`

// island is one server under virtual time: 3,000 tokens a second, one slot.
type island struct {
	a       *Arbiter
	now     time.Duration
	beatAt  time.Duration
	beats   uint64
	claims  uint64
	running *HandOut
	endsAt  time.Duration
	asked   map[uint64]time.Duration // premium requests
	waits   []float64                // seconds from asked to finished, of premium
}

const (
	tokensPerSecond = 3000
	islandTime      = 2000 * time.Second
)

// premiumP99 plays arrivals until the time is over; what is left then is not
// counted, so that an endless regular queue costs no time.
func premiumP99(t *testing.T, seed uint64, flood float64) float64 {
	t.Helper()
	p, err := policy.Parse("island", []byte(fourToOne))
	if err != nil {
		t.Fatal(err)
	}
	s := &island{a: New(Config{Policy: p}), asked: map[uint64]time.Duration{}}
	s.step(Recovered{})
	s.beat()
	rng := rand.New(rand.NewPCG(seed, 7)) // premium's arrivals are the same, flooded or not
	premium := stream{rng: rng, class: "premium", mean: 700, rate: .17 * tokensPerSecond / 700}
	regular := stream{rng: rand.New(rand.NewPCG(seed, 8)), class: "regular", mean: 1200, rate: flood * .68 * tokensPerSecond / 1200}
	premium.draw()
	regular.draw()
	for id := uint64(1); s.now < islandTime; id++ {
		next := &premium
		if regular.at < premium.at {
			next = &regular
		}
		s.until(next.at)
		if next == &premium {
			s.asked[id] = s.now
		}
		s.step(Arrived{ID: id, At: start.Add(s.now), Request: wire.Request{Class: next.class, Input: next.tokens, Rank: wire.AnyRank}})
		next.draw()
	}
	slices.Sort(s.waits)
	return s.waits[len(s.waits)*99/100]
}

var start = time.Unix(1_000_000, 0)

// stream draws Poisson arrivals with lognormal prompts.
type stream struct {
	rng    *rand.Rand
	class  string
	mean   float64 // tokens
	rate   float64 // requests a second
	at     time.Duration
	tokens uint32
}

func (s *stream) draw() {
	const sigma = .85
	s.at += time.Duration(s.rng.ExpFloat64() / s.rate * float64(time.Second))
	s.tokens = uint32(1 + math.Exp(math.Log(s.mean)-sigma*sigma/2+sigma*s.rng.NormFloat64()))
}

// until lets time pass, with whatever ends and beats meanwhile.
func (s *island) until(at time.Duration) {
	for {
		next := min(at, s.beatAt)
		if s.running != nil {
			next = min(next, s.endsAt)
		}
		s.now = next
		switch {
		case s.running != nil && next == s.endsAt:
			s.finish()
		case next == s.beatAt:
			s.beat()
		default:
			return
		}
	}
}

func (s *island) beat() {
	s.beats++
	s.beatAt = s.now + 30*time.Second
	s.step(Beat{wire.Heartbeat{Worker: "w", Incarnation: 1, Seq: s.beats, IntervalMS: 60_000, Healthy: true, Models: []string{"m"}, Ranks: 1, Slots: 1}})
}

func (s *island) finish() {
	c := s.running.Claim
	s.running = nil
	if at, ok := s.asked[c.ID]; ok {
		s.waits = append(s.waits, (s.now - at).Seconds())
		delete(s.asked, c.ID)
	}
	s.step(Done{Seq: s.claims, Done: wire.Done{ID: c.ID, Attempt: c.Attempt, Claim: s.claims, Worker: "w", Incarnation: 1, Status: wire.StatusOK}})
}

func (s *island) step(ev Event) {
	for _, act := range slices.Clone(s.a.Step(start.Add(s.now), ev)) {
		if h, ok := act.(HandOut); ok {
			s.running, s.claims = &h, s.claims+1
			s.endsAt = s.now + time.Duration(float64(h.Claim.Input)/tokensPerSecond*float64(time.Second))
			s.step(HandedOut{ID: h.Claim.ID, Attempt: h.Claim.Attempt, Seq: s.claims})
		}
	}
}
