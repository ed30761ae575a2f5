// Package broker is the shell around [fairlead/broker/arbiter]: it reads the
// streams and the workers' heartbeats, feeds what happens to the arbiter, and
// carries out what that decides. It decides nothing about requests itself.
//
// Any number of brokers may run; the store says which one leads:
//
//   - lead, a message with a time to live, is the lease. It says who should lead.
//   - epoch.0 … epoch.63 are the guards. Whoever takes over writes all of them in
//     one atomic batch. Every claim and every verdict is published on the
//     condition that its guard is still where this leader wrote it, so from that
//     instant nothing of an older leader is accepted, whatever it believes.
//
// A term is the time a broker leads. It begins with recovery:
//
//	guards written → WORK read → DONE read → REQ read → decide
//
// in this order and no other; pending = REQ − WORK − DONE. DONE and REQ are read to
// the end that their leaders tell once they have all that was acknowledged. The term
// ends when the lease is lost, a guard is refused, or the stored state contradicts the
// arbiter's; all that it knew is then dropped, because the streams hold everything.
//
// # Who runs what
//
// One goroutine, the loop, owns the arbiter. Around it: the consumers of REQ and
// DONE, one goroutine for each guard, the lease's renewal, the cleaner, and a few
// that carry out verdicts. They talk to the loop by events, and the loop to them
// by queues that never block it. A term's goroutines end with its context, and
// the term waits for them.
//
// # Cleaning
//
// A purge up to the lowest unfinished request replaces thousands of deletes.
// Finished requests above it are deleted one by one, but only when the hole is
// worth it. DONE is purged through the prefix whose requests the leader of REQ
// has confirmed gone.
package broker
