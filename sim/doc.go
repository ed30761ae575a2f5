// Package sim plays traffic through the production arbiter under virtual time: a
// discrete-event loop in place of streams, brokers and agents, and modelled engines
// in place of GPUs. It answers what a policy would do before it goes live.
//
// What decides is real: [fairlead/broker/arbiter] with the scheduler and policy
// below it, fed with the same events in the same order as the live broker feeds
// it. What computes is [mock.Model], the model of the mock engine, so that a
// simulated worker and a live one with a mock engine take the same time. What lies
// between is modelled here:
//
//	arrival ─hop─► arbiter ─hop─► agent ─► engine, in a slot
//	                  ▲             │
//	                  └────hop──────┘  started, first token, done, heartbeats
//
// A hop is the time that a stored message needs to its reader, the same for all;
// with 0 everything is instant. Messages of one hop arrive in the order in which
// they were sent.
//
// # Engines
//
// Prompts are prefilled in batches of at most MaxBatched tokens beside the
// sequences that decode, so that both slow each other. The slots of a worker bound
// its requests. A worker's speed multiplies both rates. Steps during which nothing
// begins or ends are leapt over, which changes no result.
//
// With CacheTokens a worker keeps the prompts of sessions, the least recently used
// goes first, and a request is prefilled but for what its worker holds of its
// session, at most what it says is cached. Without, what it says is right.
//
// # Faults
//
// A worker may die and come back, at set times or by chance, with all that follows:
// silence, the loss after three heartbeats, requests that run again. Its engine may
// refuse, hang, die in mid-answer or be slow by the rules of the mock engine.
//
// # Recorded times
//
// A request may bring how long its attempts took in a recording. With
// [Durations] an attempt takes so long again, with [Instants] it ends at the very
// moment, which plays a recording back event by event.
//
// # Promises
//
//   - The same configuration gives the same result, byte for byte.
//   - The arbiter sees what the live one would: no event is invented, none is lost.
//   - No clock, no goroutine, no I/O.
//
// Not promised: the time that NATS, agents and brokers need on a loaded machine,
// beyond the hop; clients that leave; answers that do not stream.
package sim
