// Package model is Fairlead's store protocol as an explicit-state model: every
// world that a scenario can lead to is visited, and in each one the promises are
// checked. It is code about the code: nothing imports it but its own tests.
//
// # What is modelled
//
// The streams REQ, WORK (guards, claims, verdicts), DONE and DEAD; two brokers,
// two agents with their incarnations, and what a client has been told. A step is
// one operation on the store, one message taken in, or one decision, in the order
// in which the broker and the agent take them; between any two steps anything else
// may happen. The files follow the code that they stand for:
//
//	recovery.go  broker/lease.go, recovery.go; arbiter/recover.go
//	leader.go    broker/intake.go; arbiter/loss.go, beat.go
//	outcome.go   arbiter/outcome.go
//	handout.go   broker/fence.go, handout.go; arbiter/dispatch.go
//	ending.go    broker/ending.go; arbiter/verdict.go
//	cleaning.go  broker/cleaner.go
//	agent.go     agent/job.go, settle.go; commands of agent/end.go
//
// A broker that has been deposed goes on with everything until it learns of it,
// which may be never. [Fault] lists what goes wrong, [Rules] what keeps the
// promises nevertheless, one switch each, and [Promise] what must hold: some in
// every step, some when nothing is left to happen but faults.
//
// # What is not
//
//   - Time. A lease, a silence or a deadline may end at any moment, or late; "soon"
//     is never assumed. That something happens at all is: a world is at its end
//     only when no step is left.
//   - The lease itself: it only says who should lead. Here anybody may take over.
//   - Fair shares, models, limits, placement: no promise of the protocol needs them.
//   - More than one message to a client for each outcome, and any that core NATS
//     loses.
//   - NATS itself. That an atomic batch is atomic, that a purge below a sequence
//     leaves the rest, that a stream's leader tells the truth, is taken for granted.
//   - Two processes with one worker id: for the protocol, a false suspicion of the
//     older one.
//   - That an attempt which started is also known to have: the model's broker knows.
//
// # How to read a trace
//
// A trace is a shortest way to a violation; testdata holds a few:
//
//	A, B                the brokers; which of them leads shows in who wrote guards last
//	r1, r2              requests
//	incarnation 0, 1    of the first and the second agent; 2 and up come after crashes
//	claim 3, DONE 2     places in WORK and DONE, as sequences are
//	{0 2}               what a read found, or what is deleted
//	UPPER CASE          a fault, or its work
//
// The last line, with ***, names the promise.
//
// # Rules that the model asked for
//
// They are not on the protocol's page, or sharper than there; each has a trace, by
// go test -run Needed with the rule's name:
//
//   - ReadToLast: REQ counts as read up to the last sequence that its leader
//     reports. Else the verdict on a request that was the newest, and is gone,
//     waits in WORK until another request comes.
//   - RecoveryBarrier: what an incarnation wrote last may have come after recovery
//     read DONE, so the barrier is needed there, too.
//   - HoleAtBarrier: the barrier itself must notice a hole. The message that would
//     show it may never come.
//   - CheckClaim is no mere precaution: without it a leader waits for ever for a
//     request that a deposed one has finished.
//   - LostIsDropped: a cancelled request that finishes after all leaves its claim
//     to its agent only while that is not lost.
//   - OwnEpochOnly: an agent obeys no broker that is older than its claim. A deposed
//     one takes the new leader's claims for strangers, and would have them stopped.
//   - KeepUnknown: a DONE of a request or an attempt that a broker never knew proves
//     that a newer one leads. Releasing it loses the attempt's number.
//   - NoRerunReturned: an attempt whose first token was heard of does not run again
//     because it was stopped, either.
//
// # What is explored
//
// go test explores in some 15 s, with every rule on and nothing broken: both crashes
// with a spurious take-over, once with first tokens, once with retries, once with
// a single attempt; a false suspicion with a broker's crash; deadlines; with one
// agent every pair of faults; with two requests every single fault but suspicion.
// 4 million worlds in all, each list whole. It takes each rule away and expects
// the violation that it is there for.
//
// With -tags slow, in under two minutes on two idle cores and 3 GB: two requests
// with every single fault (15.6 million worlds); every three faults with one agent
// (8.5 million; 26.3 million with first tokens, which a test run has no time for);
// two crashes of each kind with a take-over; every pair of faults with two agents
// (2.9 million), and with a single attempt; a false suspicion with a broker's crash
// and a take-over (2.8 million). What is marked "part of" is cut off where its
// scenario says so: breadth first, so all histories up to some length are in it.
//
// Worlds that differ only in the brokers' names are one. A scenario may make steps
// coarser (Coarse, Prompt); the finer ones are explored in smaller scenarios.
//
// # Limits that it shows
//
// TestLimits keeps them true:
//
//   - A claim's answer is lost, the claim is executed and acknowledged, the store
//     forgets the claim's id (one server, restarted: it knows the ids only of what
//     it still holds), and then the broker repeats the claim: the attempt runs
//     twice. The client takes the first result.
//   - A dead letter is written, its broker dies, and nobody leads for longer than
//     DEAD remembers ids: the next leader writes it again.
//   - An agent that dies after its final message and before DONE is taken for
//     lost: the request runs again or is given up, though its client has an answer.
//     DONE before the final message loses results instead (rule 11).
package model
