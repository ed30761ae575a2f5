// Package demo shows a whole Fairlead at work on one machine: an embedded NATS
// server in a temporary folder, a broker, agents with mock engines, and
// frontends that ask what a scenario says. Frontends and agents are real ones,
// each with a TCP connection of its own.
//
//	scenario   what is asked, when, of whom     pure
//	system     what runs: server, broker, fleet, frontends
//	recorder   what happened                    pure
//	view       what is shown: live table, progress lines, text or JSON
//
// # What the figures mean
//
//   - acknowledged: the store took the request. completed and failed: its
//     frontend was told so. lost: acknowledged, and no outcome came although
//     nothing at all had happened for a long while.
//   - duplicated: requests for which more than one final message was sent. A
//     wiretap on the frontends' inboxes counts them, because a client drops all
//     but the first; it is read to its end after the last agent has left.
//   - The order of completions is that in which final messages pass the wiretap:
//     one connection, so one order, that of the server.
//   - ttft: from just before the frontend publishes to the first chunk in its hand.
//     wait: from the same moment to the claim passing the wiretap, which is when
//     the broker's decision becomes fact. Both are wall-clock time, not trace time.
//   - uncached_tokens: of the requests acknowledged, by physical class.
//   - token_share: the broker's own account of what it handed out while every
//     class of the policy was backlogged; 0 when that was never so. entitlement:
//     the class's quantum over the sum of all.
package demo
