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
//     them are under way at once. They are retried until they succeed, and each is
//     answered exactly once. When the store refuses the fence, another broker
//     leads: the caller drops the arbiter.
//   - [Done] events come in stream order without holes; a hole that the caller
//     did not make itself means that it must recover anew.
//   - Recovery delivers, in this order, [ClaimFound] and [VerdictFound] for
//     everything in WORK, Done for everything in DONE, [Arrived] for everything
//     in REQ, then [Recovered]. Heartbeats, cancels and messages of DONE that are
//     stored meanwhile may come at any time. Actions of recovery are carried out
//     like any other.
//   - A Tick is due at [Arbiter.NextDeadline]. Other events may be late; none
//     of them may be invented.
//
// # A request's states
//
//	queued ──► placing ──► running ──► (finished)
//	 ▲  ▲         │           │
//	 │  └─────────┴───────────┤            worker lost untouched, or given back
//	 ▼                        ▼
//	parked ──► judged ──► sentenced ──► ending ──► (ended)
//
// queued lies in a lane; placing has been decided and its claim is being stored;
// running is claimed. A parked request waits outside its lane: nobody can serve
// it now, and it must not stand in the way of those behind it. judged waits for a
// guard, in any state before; a result that comes then still wins. sentenced has
// its verdict under way, and ending is being told to the client: from the first
// on nothing changes the verdict. A request that is finished while it is placing
// is over, until its claim is known to be stored.
//
// # Bookings
//
// A booking is the room that one attempt takes. It is made in the step of the
// decision, so no two decisions see the same free slot. Its room is freed by the
// attempt's message in DONE, or when its worker is lost; the booking itself stays
// until the worker has not listed the claim in three heartbeats, because
// heartbeats and the streams are not read in one order. A claim that a live worker
// neither lists nor has reported is looked up in WORK.
//
// # Models that nobody serves
//
// Requests for such a model wait for a worker, in a ring of their own, for as long
// as no_worker_grace allows. Names cost a client nothing, and every ring costs every
// step: when 256 such rings are there, a request for one more is refused at once.
//
// # Overload
//
// A worker above a threshold of Config.Overload is given nothing, and is not
// counted among those that may be busy. It is there nevertheless: requests that
// only it may serve wait, and no grace of theirs runs out.
//
// # Shedding
//
// In a class that sheds, a request is ended when it is next in its lane and its
// prompt alone would take the fastest worker that may get it past its deadline.
// Speeds are declared, or learned from what workers report; while none is known
// nothing is shed. It is not charged. What waits behind blocked heads is not looked
// at: it runs into its deadline, or is shed when its turn comes.
//
// # Displacement
//
// When a class that displaces is full, a request of a higher strict tier is taken
// nevertheless, and the newest requests of the lowest tiers make room for it, as
// many as the limit needs, at most 8; when that does not do, nobody is displaced
// and the newcomer is refused. Requests of the same tier never displace each
// other. It costs O(log n) for n waiting.
//
// # Tenants
//
// In a class with tenants each tenant has lanes of its own, and the scheduler
// divides the service of the class among those that have something waiting.
// A tenant is known for as long as a request in the system names it. The credit
// of tenants is not saved: a new leader, or a reload of the policy, starts their
// turns afresh, which moves each of them by one bound at most.
//
// # True cost
//
// A class with an output_weight is charged by its snapshot when a request is
// handed out, and corrected when it is done by what its engine reports: the
// uncached prompt, and the output times the weight. With estimate_output the mean
// output is charged beforehand, so that the correction is small. Only who still has something
// queued has a deficit to correct: a class that comes back after it was idle
// neither gains nor suffers from its past. On every interval the charges of two
// backlogged classes keep to the scheduler's bound, with M the largest charge and
// what is corrected at once, at most one correction for each slot. A request that
// the broker ends keeps the charge of its last attempt; one that recovery finds
// finished is not corrected, and one that it finds running counts as charged
// without an estimate.
//
// # Promises
//
//   - A request that comes back re-enters its lane under its original key, with
//     the next attempt number, and its class and its tenant get back what they were
//     charged, as far as the credit of each stays within its quantum and the
//     largest charge.
//   - A class has at most a quantum and its largest charge saved up, also when a
//     policy is reloaded or comes with a new leader: what it earned by a larger
//     quantum is cut to what the new one allows.
//   - A request that nobody may serve never reaches the ring: it costs and earns
//     its class nothing.
//   - Attempt numbers rise and are never reused, whoever leads: what carries the
//     highest (a claim in WORK or a message in DONE) is dropped only after a newer
//     claim is stored or the request is over.
//   - Every message in DONE is released in the end, by [Finish] or [ReleaseDone];
//     one about a request beyond all that were read, when a later one is.
//   - The first outcome wins; whatever comes later is counted and dropped. A
//     superseded attempt's failure is never an outcome.
//   - Every cancel is answered once; "found" only after its verdict is stored.
//   - While guards are free, no lane's head waits that a worker could take.
//   - The same events lead to the same actions.
//
// Not promised: that an attempt whose worker was only suspected does not run to
// its end beside its successor, nor that a worker has the room which it reports:
// what it runs beside its claims shows in its own hold and health alone.
package arbiter
