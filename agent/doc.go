// Package agent stands beside one inference engine and works for the broker: it
// takes claims from its own subject, fetches each request from the store, runs
// it on the engine, streams the answer to whoever asked, and reports.
//
// # Promises
//
//   - A claim is acknowledged only after its final message has reached the
//     server and its DONE is stored, in this order; until the acknowledgement is
//     confirmed the claim stays in the heartbeats. Whatever breaks in between is
//     retried for as long as the agent lives, and a second delivery of a claim
//     never starts it a second time.
//   - Work that was not done is given back with a DONE that is no outcome: when
//     the engine is busy or cannot be reached, and when the agent leaves.
//   - A request whose first token went out is not given back unless its client
//     asked for retries; it ends as worker_lost, so that no client sees two
//     attempts mixed.
//   - A superseded agent (a newer one has its worker id) says nothing more about
//     its claims: the broker disposes of them.
//   - When nobody listens on a reply subject for Config.ListenGrace, the engine
//     call is cancelled. While nothing is sent, an empty message now and then
//     finds that out.
//
// Not promised: that a chunk sent on core NATS arrives; the client numbers them
// and sees a gap.
//
// # Shape
//
// One goroutine, [Agent.Run], owns the ledger of claims, the pulls and the
// heartbeat, and reads everything from channels. Each claim has a job, a
// goroutine that reports back to it. Run returns when all of them have ended.
//
// Pulls are made by hand, one message each, on one subscription that lives as
// long as the agent: no delivery can go to a pull that was given up. After a
// lost connection the consumer is made anew, so that what was on the wire comes
// again; claims that the ledger knows are recognised by their sequence.
//
// There are two ways to end, as two contexts: the first stops taking work and
// finishes what there is, the second cancels the engine calls and gives back.
package agent
