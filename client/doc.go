// Package client asks Fairlead for inference from Go: publish a request, take
// its chunks, wait for its result, cancel it, or read a stored result later.
//
//	c, err := client.Connect(nats.DefaultURL, client.Config{})
//	p, err := c.Submit(ctx, client.Request{Class: "interactive", Body: body})
//	for chunk, err := range p.Chunks(ctx) { … }
//
// # Promises
//
//   - A receipt is the store's: when [Client.Submit] returns without an error,
//     the request is kept and has an id. A publish whose answer was lost is
//     repeated under the same deduplication id, never asked twice.
//   - Attempts are never mixed. An execution is named by the sequence of its
//     claim; when another one starts after chunks of the first were shown, the
//     request ends with worker_lost, or, when [Request.Retry] is
//     [wire.RetryAlways], a chunk with Restart set says to begin again.
//   - A missing chunk is an error that names it, never a shorter result.
//   - The first final message is the outcome; later ones are dropped.
//   - A request with a TTL ends, if nobody else ends it, by the client's own
//     clock shortly after its deadline.
//   - After a reconnect the leader is asked about every open request, and also
//     about one that stays silent for [Config.Silence]; one that has ended while
//     nobody could hear it ends with result_lost.
//
// # Not promised
//
//   - That a result sent to an inbox arrives: core NATS delivers it at most
//     once. Ask for [Request.Stored] when it must survive its client.
//   - That leaving a request cancels it at once. [Pending.Cancel] does;
//     [Pending.Close] stops listening, and the worker notices in its own time.
//
// # Cost
//
// Each request with an inbox has one subscription of its own, so that the
// server can tell a worker that nobody listens any more. All of them deliver
// into one channel read by one goroutine: an idle request costs memory, under
// two kilobytes with the server's share, and no goroutine.
package client
