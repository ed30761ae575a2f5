// Package kinds knows what sets one OpenAI-compatible engine apart from the next:
// how to recognise it, and where it says how busy it is. Requests themselves, and
// everything about them, are [fairlead/agent/engine/openai]'s, which each kind is
// built on; a file of this package says the rest about one kind.
//
// # Recognising
//
// An engine of the kind "auto" is asked who owns its models (/v1/models), then
// which names its exposition has (/metrics), then for the one endpoint that only
// its kind has. What is not recognised works without a load of its own. The
// question is asked again whenever a scrape fails: the port may have got another
// engine.
//
// # Reading the load
//
// Names of metrics are matched exactly, never by prefix: vLLM has
// vllm:num_requests_waiting_by_reason beside vllm:num_requests_waiting. Where
// a name has changed between versions, the newest that is there counts.
//
// Counts are summed over all labels, such as engines, models and ranks. One
// exception: series that name their data-parallel rank (dp_rank) and differ in
// nothing but the rank inside it (tp_rank, pp_rank, moe_ep_rank) tell the same
// thing several times, and count once. A fraction is the mean over the series.
// A value that is no number, negative or, of a fraction, above 1 is unknown.
//
// A scrape that fails, or finds none of the names, is an error. How long an older
// one is still believed is the caller's decision.
package kinds
