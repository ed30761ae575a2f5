package load

import (
	"fmt"
	"math/rand/v2"
	"time"

	"fairlead/client"
	"fairlead/wire"
)

// ask is one request of the load and what its frontend does with it.
type ask struct {
	client.Request
	stream bool
	tokens int64
	cancel time.Duration // after so long it is cancelled; 0 never
	twice  bool          // another frontend asks it too, with the same key
	byID   bool          // another frontend reads the result, by the id alone
	poison bool
}

// Models and workers of the load, as the rig has them.
const model = "mock"

// mix draws request n of a run: the same seed and n give the same request.
func mix(seed uint64, n, workers int) ask {
	rng := rand.New(rand.NewPCG(seed, uint64(n)))
	one := func(in int) bool { return rng.IntN(in) == 0 }
	a := ask{stream: !one(3), tokens: int64(4 + rng.IntN(24))}
	a.Class, a.Model = "interactive", model
	if one(3) {
		a.Class = "batch"
	}
	if one(4) {
		a.Path = wire.PathCompletions
	}
	a.InputTokens = uint32(50 + rng.IntN(400))
	a.Body = body(a.stream, a.tokens)
	a.Stored = one(2)
	if a.Stored && one(4) {
		a.IdempotencyKey, a.twice = fmt.Sprintf("chaos-%d-%d", seed, n), true
	}
	a.byID = a.Stored && one(3)
	if one(8) {
		a.TTL = time.Duration(1+rng.IntN(20)) * time.Second
	}
	switch rng.IntN(12) {
	case 0:
		a.Worker = workerName(rng.IntN(workers))
	case 1:
		a.Worker, a.Pin = workerName(rng.IntN(workers)), wire.PinPrefer
	}
	switch rng.IntN(8) {
	case 0:
		a.Retry = wire.RetryNever
	case 1, 2:
		a.Retry = wire.RetryAlways
	}
	if one(16) {
		a.cancel = time.Duration(1+rng.IntN(800)) * time.Millisecond
	}
	return a
}

func workerName(i int) string { return fmt.Sprintf("w%d", i+1) }

func body(stream bool, tokens int64) []byte {
	return fmt.Appendf(nil, `{"stream":%t,"max_tokens":%d,"messages":[{"role":"user","content":"take the line"}]}`, stream, tokens)
}

// poisoned is a request with so long a prompt that whoever waits for its claim
// has the time to kill the agent before the first token.
func poisoned(n int) ask {
	a := ask{tokens: 4, poison: true}
	a.Class, a.Model, a.Stored, a.Body = "batch", model, true, body(false, 4)
	a.InputTokens = 100_000
	a.IdempotencyKey = fmt.Sprintf("poison-%d", n)
	return a
}
