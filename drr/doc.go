// Package drr is the scheduler core: it says which queued request is dispatched next.
//
// Requests belong to classes. Between classes it divides service, counted in uncached tokens, by
// exact Deficit Round Robin (Shreedhar and Varghese, 1995). Within a class it follows the order
// of the class over lanes: a shared lane and one exact lane for each worker and rank that
// requests are pinned to. The package is pure: no clock, no I/O, no goroutine, no logging; the same calls
// give the same dispatches.
//
// # Deficit Round Robin
//
// A cursor goes round a ring of classes. A class that it visits is granted its quantum Q, is
// served while its deficit d (what it earned and did not spend) covers the cost of its next
// request, and keeps the rest for its next visit; when it has nothing left it forgets the rest.
// A quantum is granted per visit and not per request, so a class of small requests gains nothing
// from their number, and a large request saves up over as many visits as it takes.
//
// A visit leaves d below the cost it could not pay, so d < M always holds between visits and d ≤ Q + M
// within one, M being the largest cost offered. Over any interval in which two classes
// stay backlogged and dispatchable their numbers of visits differ by at most one, and each was
// served visits · Q less the change of its deficit. Hence the share: with S tokens served,
//
//	|Sᵢ/Qᵢ − Sⱼ/Qⱼ| ≤ 1 + Mᵢ/Qᵢ + Mⱼ/Qⱼ
//
// and the wait of a head of cost L: it needs at most ⌈L/Qᵢ⌉ visits, in which the others are served at most
//
//	Σ_{j≠i} (⌈L/Qᵢ⌉·Qⱼ + Mⱼ) tokens.
//
// # In one pass
//
// Walking the ring would take time in proportion to cost over quantum. But the walk changes
// nothing but deficits until somebody can pay, so it is computed. From the cursor on, class j
// needs nⱼ = max(1, ⌈(costⱼ − dⱼ)/Qⱼ⌉) visits. With r = min nⱼ, the winner is the first in ring
// order with nⱼ = r. Up to and including it each dispatchable class is visited r times on the way, and
// behind it r − 1 times; each earns that many quanta. One call costs O(C) for C classes whatever
// the costs, and less when a class on the way needs one visit only: nobody needs fewer, so
// the pass ends there.
//
// The rules that the code cites by number:
//
//	0  A call that can dispatch nothing changes no credit and moves no cursor.
//	1  A class whose visit is on is served while its candidate costs ≤ d; else the cursor leaves it.
//	2  An empty class has no deficit. A blocked one keeps d and earns nothing. Others need nⱼ visits.
//	3  The winner and what is earned on the way, as above.
//	4  The winner pays. The cursor rests on it, its visit is on.
//	5  A class emptied for any reason (served, cancelled, expired) loses its deficit and its visit.
//
// # Blocking and open visits
//
// In life slots fill after every few dispatches, and a visit ends not because the class is done
// but because it is blocked. Such a visit stays open: when its turn comes again and d covers its
// candidate, the class goes on without a new quantum. If every interruption began a new visit
// instead, each refill of the slots would grant quanta that nobody had spent: shares would drift
// to equal ones whatever the quanta, and deficits would grow without end.
//
// # A departure from the reference
//
// The text this design follows grants a quantum only when the existing deficit does not cover the
// candidate, moves the cursor on when the next request is not covered, and adds bulk credit to
// all classes alike. Read literally that is not DRR. Two classes of equal quanta Q with costs
// 2Q and 3Q, always backlogged, come to shares of 40 and 60 %, and the error grows for ever. And a 20,000-token head
// may never run: each small newcomer that overtakes it in its class is paid out of the credit it had saved,
// and a class that can pay is not granted more. Here a visit that is begun always grants the
// quantum, and only the visits that the walk would have made are credited. What that text promises
// is kept: it is work-conserving, a quantum is per visit, a weighted burst stays together, blocked classes keep
// their credit and earn none, and one call is O(C).
//
// # Lanes
//
// All lanes of a class follow one key: the strict tier, then the score of its Order, then the stream
// sequence. Nobody looks past the head of a lane. The heads are indexed by the same key, so
// that of the dispatchable heads of a class the first one is its candidate. A head that
// the Gate refuses leaves the index with its lane until a recheck of its worker, or until another entry becomes
// the head. A head that passed is asked about again whenever it may be chosen, because its worker may
// have become busy since. Draining n lanes of one class, half of them blocked, asks about each head once.
//
// With Aging the order is a promise: no request of the same or a lower tier that arrives later
// than Arrival + k·Cost/Rate of another one is dispatched before it in its lane.
//
// # Refunds
//
// Refund returns what a dispatch was charged when the request comes back or fails at placement,
// and corrects an estimate afterwards, with either sign. A class that has something queued keeps
// it. An empty class keeps it until the next dispatch of any class, and loses it if nothing was
// enqueued by then: putting a request back takes an Enqueue and a Refund, in any order, with no Next
// in between. Rule 5 is why it cannot last: credit stored by an idle class would later be a burst
// that no bound covers. Unspent refunds R add to the bounds: d ≤ Q + M + R, and S counts
// tokens served less those refunded. A charge beyond d is a debt that the class works off before it is served again.
//
// # Not promised
//
//   - Fairness in requests or in time: the unit is the uncached token of the snapshot.
//   - A share for a class while it is blocked or empty. Time lost so is not made up for.
//   - Order between lanes of which one is blocked.
//   - Limits, eligibility and placement: they are the caller's.
//   - Safety for concurrent use.
package drr
