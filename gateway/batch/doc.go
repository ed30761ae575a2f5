// Package batch runs OpenAI's batches on Fairlead: a file of requests, each asked
// as a stored request of its own, and a file of results.
//
// # Where things are
//
// Everything is in the store, so that any gateway can go on with what another one
// began. The bucket FILES holds the content of files; GATEWAY what is known of
// files and batches; BATCH_LINES, while a batch runs, one entry for each line that
// was asked: the request's id, and then its result; BATCH_LEASES who runs a batch,
// which the server forgets 15 s after its runner's last word. They are created at
// the first use.
//
// # Promises
//
//   - A batch that was acknowledged ends, as completed, failed, cancelled or
//     expired, as long as one gateway lives.
//   - Each line has one result in one of the two files: that something is not there
//     is only believed of a leader, never of a replica that may be behind. A line
//     is asked again only when its result was lost, or when its runner died between
//     asking and writing the id down, and is not found again within the 30 s in
//     which the store knows that it was asked.
//   - What a batch takes of a gateway is bounded: so many lines under way, and
//     16 MiB of its file in memory.
//
// # Shape
//
// [Runner.Run] looks for batches without a runner and takes the lease of each that
// there is room for. A run has one goroutine that reads the file, one for each line
// under way, and one that renews the lease and writes down the counts; it ends when
// another gateway holds the batch.
package batch
