// Package arbiter makes every decision of a broker: what becomes of a request,
// which one goes next and to which worker, who is lost, what runs again.
//
// It is a state machine without a clock, I/O or goroutines. Events go in with
// the time at which they happened, actions come out:
//
//	actions := a.Step(now, event)
//
// The live broker and the simulator run this same code. The order between
// classes is package drr's; this package adds what is around it: models, limits,
// eligibility, busy workers, bookings, placement, attempts and outcomes.
//
// # Duties of the caller
//
//   - One goroutine calls Step; the slice it returns is valid until the next call.
//   - Actions of one Step are independent but for this: what they store is
//     answered by an event, in any order.
//   - [HandOut] and [StoreVerdict] are stored fenced; at most Config.Guards of
//     them are under way at once. They are retried until they succeed. When the
//     store refuses the fence, another broker leads: the caller drops the arbiter.
//   - [Done] events come in stream order without holes; a hole that the caller
//     did not make itself means that it must recover anew.
//   - Recovery delivers, in this order, [ClaimFound] and [VerdictFound] for
//     everything in WORK, Done for everything in DONE, [Arrived] for everything
//     in REQ, then [Recovered]. Heartbeats may come at any time.
//   - A Tick is due at [Arbiter.NextDeadline]. Other events may be late; none
//     of them may be invented.
//
// # A request's states
//
//	queued ──► placing ──► running ──► (finished)
//	   ▲          │           │
//	   └──────────┴───────────┤            worker lost untouched, or given back
//	                          ▼
//	              judged ──► ending ──► (ended)
//
// queued lies in a lane; placing has been decided and its claim is being stored;
// running is claimed; judged waits for its verdict to be stored; ending is being
// told to the client. A parked request is queued outside its lane: nobody can
// serve it now, and it must not stand in the way of those behind it.
//
// # Promises
//
// Bookings are made in the step of the decision, so no two decisions see the
// same free slot. A request that comes back re-enters its lane under its
// original key, with the next attempt number. Attempt numbers rise and are never
// reused. The first outcome wins; whatever comes later is counted and dropped.
// A superseded attempt's failure is never an outcome.
package arbiter
