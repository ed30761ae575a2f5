// Package recorder writes down the traffic of a running Fairlead as a
// [fairlead/trace.Recording], from headers and reports alone: no prompt and no answer
// ever comes to it.
//
//	book       what is known of each request, from messages in any order   pure
//	recorder   listens: REQ by an ordered consumer of headers, claims, verdicts, reports,
//	           events and heartbeats as they are published
//
// A request is written when its end is known, so that lines are in the order of ends.
// What is open when the recording ends is written then.
//
// # What instants mean
//
// Arrivals are the store's own timestamps. Everything else is noted when the recorder
// hears it, moved to the clock of the store, whose difference is measured in the
// beginning: clock_error_ns bounds what is left of it. A hand-out is noted when its
// claim passes, which is when the decision becomes fact.
//
// # What may be missing
//
// A request that is stored, served and deleted before the store has shown its headers
// to the recorder leaves claims without an arrival; they are counted as missed. What is
// published while the recorder has no connection is not heard.
package recorder
