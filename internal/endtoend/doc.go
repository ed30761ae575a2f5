// Package endtoend measures whole jobs: a request with a 2 KiB payload is asked,
// a worker that does nothing answers 200 bytes, the submitter has them. Server,
// broker, agent and submitters share one process; requests are stored in files,
// without a flush for each write.
//
//	go test -run '^$' -bench . ./internal/endtoend
//
// Absolute figures drift with the machine: compare them with BenchmarkFloor of
// the same run, which is two stored hops and a purge, with nothing around them.
package endtoend
