// Package lab is a small laboratory of queues: requests arrive, wait, and are served in virtual time.
//
// It is what the theory of queues speaks about and no more: one server (Serve, ServeSRPT, ServeShared), or several
// with a queue each (Route), service times that are known in advance, and nothing that fails. Engines, batches
// and workers are the business of package sim. In return its results can be checked against closed forms, which stand
// in theory.go, and against identities that hold for every seed.
//
// The orders that Fairlead offers are not written again: Production queues requests in package drr, as the broker
// does. What is written here serves comparison only: c-mu, SRPT, processor sharing, the placements,
// and Literal, which follows the words of the reference's text on DRR where the exact arbiter departs from them.
//
// The package is pure: no clock, no goroutine, no I/O, and randomness comes from generators that are seeded by the
// caller. The same input gives the same result, bit by bit. Time is in seconds, as float64.
package lab
