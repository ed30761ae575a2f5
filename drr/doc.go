// Package drr is the scheduler core: it says which queued request is dispatched next.
//
// Requests belong to classes. Between classes it divides service, counted in uncached tokens, by
// exact Deficit Round Robin (Shreedhar and Varghese, 1995), and in a class with tenants between those in the same way.
// Within a class or tenant it follows the order of the class over lanes: a shared lane and one exact lane for
// each worker and rank that requests are pinned to. The package is pure: no clock, no I/O, no goroutine, no
// logging; the same calls give the same dispatches.
//
// # Deficit Round Robin
//
// A cursor goes round a ring of members: classes, or the tenants of one. A member that it visits is granted its
// quantum Q, is served while its deficit d (what it earned and did not spend) covers the cost of its next
// request, and keeps the rest for its next visit; when it has nothing left it forgets the rest.
// A quantum is granted per visit and not per request, so a class of small requests gains nothing
// from their number, and a large request saves up over as many visits as it takes.
//
// A visit leaves d below the cost it could not pay, so d < M always holds between visits and d ≤ Q + M
// within one, M being the largest cost offered. Over any interval in which two members
// stay backlogged and dispatchable their numbers of visits differ by at most one, and each was
// served visits · Q less the change of its deficit. Hence the share: with S tokens served,
//
//	|Sᵢ/Qᵢ − Sⱼ/Qⱼ| ≤ 1 + Mᵢ/Qᵢ + Mⱼ/Qⱼ
//
// and the wait of a head of cost L: it needs at most ⌈L/Qᵢ⌉ visits, in which the others are served at most
//
//	Σ_{j≠i} (⌈L/Qᵢ⌉·Qⱼ + Mⱼ) tokens.
//
// How much the others have queued is no part of it: a burst moves nobody's wait any further.
//
// # Rounds instead of a walk
//
// Walking the ring would take time in proportion to cost over quantum. But the walk changes
// nothing but deficits until somebody can pay, so it is computed. Number the visits by (round, place): a round comes
// to every place once, in order, and a member has one place. A member with deficit d whose next visit is in round b
// needs n = max(1, ⌈(cost − d)/Q⌉) visits, so it can pay in round b + n − 1. That number stays the same while others are
// visited; it changes with the candidate of the member only. The winner is the least (round, place) of all members.
// A tree over the places finds it, and a dispatch changes one path of the tree, in O(log n) for n places whatever the
// costs. Quanta are granted when a deficit is needed: visits made = visits that the cursor has come to since b.
//
// The rules that the code cites by number:
//
//	0  A call that can dispatch nothing changes no credit and moves no cursor.
//	1  A member whose visit is on is served while its candidate costs ≤ d; else the cursor leaves it.
//	2  An idle member has no deficit. A blocked one keeps d and earns nothing. Others need n visits.
//	3  The winner is the first that can pay. Whoever is visited on the way earns Q each time.
//	4  The winner pays. The cursor rests on it, its visit is on.
//	5  A member emptied for any reason (served, cancelled, expired) loses its deficit and its visit.
//
// # Tenants
//
// A class with tenants offers the candidate of the tenant that is first in its own ring. Looking at it changes nothing;
// when the class is served, both rings commit. So the bounds hold at both levels, each in the tokens of its own: among
// classes, whoever the tenants are; and among the tenants of a class that stay backlogged, in the tokens of that
// class. The quantum of a tenant is that of its class times its weight, to the nearest token and at least 1: the
// scale has no influence on the time that a call takes, and decides only how much of a tenant is served together.
//
// The place of a tenant is its number. An idle tenant has no place, no credit and no memory: one that comes back is a
// newcomer. Snapshot keeps nothing of tenants either, so a take-over restarts their rings, as if each had been idle
// for a moment. That moves a tenant by no more than one bound.
//
// # Blocking and open visits
//
// In life slots fill after every few dispatches, and a visit ends not because the member is done
// but because it is blocked. Such a visit stays open: when its turn comes again and d covers its
// candidate, the member goes on without a new quantum. If every interruption began a new visit
// instead, each refill of the slots would grant quanta that nobody had spent: shares would drift
// to equal ones whatever the quanta, and deficits would grow without end.
//
// A head counts as one that can go until it is due, is asked about, and is refused. Then the walk begins again from where
// the cursor is, without it, as if it had been known all the time. So a dispatch asks one question and not one for
// each member, and a head that is free again before its turn loses nothing: its member saves up to the
// cost of the head and no further, as a member that is never blocked does.
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
// their credit and earn none, and a call does not depend on costs.
//
// # Lanes
//
// All lanes of a class follow one key: the strict tier, then the score of its Order, then the stream
// sequence. Nobody looks past the head of a lane. The heads are indexed by the same key, so
// that of the dispatchable heads of a class, or of a tenant, the first one is its candidate. A head that
// the Gate refuses leaves the index with its lane until a recheck of its worker, or until another entry becomes
// the head. A head that passed is asked about again whenever it is due, because its worker may
// have become busy since. Draining n lanes of one class, half of them blocked, asks about each head once.
//
// Every tenant has lanes of its own, and the shared ones mostly have the same answer. A Gate that knows says AllShut,
// and the shared lanes of the whole class are closed at once until a recheck. While some tenant has an exact lane
// that may go, the closed lanes of those due before it are set aside one by one, without a question.
//
// With Aging the order is a promise: no request of the same or a lower tier that arrives later
// than Arrival + k·Cost/Rate of another one is dispatched before it in its lane.
//
// # Charging what was really used
//
// SetSurcharge adds an estimate to the cost of every head, and Charge corrects the deficits of a class and of its tenant
// by any amount, of either sign, at any time: when the output of a request is known, or when a request came back. What
// was charged too little is a debt: d is negative, and the member needs ⌈(cost − d)/Q⌉ visits, as ever.
// Let K be the deepest debt. Between visits −K ≤ d < M, the numbers of visits still differ by one at most, and so the
// proof above gives for S, the tokens charged in the end,
//
//	|Sᵢ/Qᵢ − Sⱼ/Qⱼ| ≤ 1 + (Mᵢ + Kᵢ)/Qᵢ + (Mⱼ + Kⱼ)/Qⱼ
//
// where M contains the surcharge. K is at most what the requests under way can still be charged. Credit given back and
// not yet spent, R, adds to the other side: d ≤ Q + M + R, until the end of the next visit.
//
// The rule about history: a member that has nothing queued has neither credit nor debt, at each level by itself. A Charge to
// it is void, and when it comes back it is as good as new. Credit stored by an idle member would later be a
// burst that no bound covers; debt stored would punish it for a time in which nobody else wanted the service. A charge
// that comes while it has something queued counts, whenever the request was dispatched. A request that is put
// back is therefore enqueued first and refunded then.
//
// # Not promised
//
//   - Fairness in requests or in time: the unit is the uncached token of the snapshot, as corrected.
//   - A share for a class or tenant while it is blocked or idle. Time lost so is not made up for. A tenant that never has
//     more than one request in the system is idle while that runs, and pays the estimate only.
//   - Order between lanes of which one is blocked, and between tenants.
//   - Limits, eligibility and placement: they are the caller's.
//   - Safety for concurrent use.
package drr
