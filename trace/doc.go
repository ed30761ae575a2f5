// Package trace reads recorded LLM traffic: when each request arrived, how many
// tokens it brought and asked for, and to which class and session it belongs.
//
// Two published formats are known. The Azure LLM inference traces are CSV with the columns
// TIMESTAMP, ContextTokens and GeneratedTokens; a fourth column, Class, is ours
// and lets one file hold a merged trace. Mooncake traces are JSON lines whose
// hash_ids name the 512-token blocks of the prompt, from which the cached prefix
// of every request follows. Recordings of a live broker are a third, see [Recording].
// [Read] tells them apart by their content.
//
// What readers promise: requests come back sorted by arrival, requests that
// arrive together keep the order of the file, the first arrives at 0, and an
// error names the line, the column or field, and what would be right. The
// functions that change a trace return a copy and leave their argument alone.
//
// The package does no I/O beyond the reader it is given, and randomness is an
// argument: the same input gives the same trace.
package trace
