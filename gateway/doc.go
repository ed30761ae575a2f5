// Package gateway is an HTTP frontend that speaks OpenAI's API and asks Fairlead:
// clients of OpenAI work unchanged. It keeps nothing that a request needs, so that
// any number of gateways stand side by side and each may die.
//
// # Promises
//
//   - A body goes to the engine as it came, and the engine's answer to the client.
//   - A client that hangs up cancels its request, wherever that is: waiting or
//     in an engine.
//   - An error has OpenAI's shape, a status that fits, and Fairlead's reason in
//     code; where waiting helps, Retry-After says how long.
//   - Nothing grows without bound: headers, bodies, the memory of all bodies,
//     requests at once, and what waits for a slow reader. A reader that is too
//     slow is cut off, and its request cancelled.
//   - Secrets of API keys are compared as hashes, and never logged.
//
// # Not promised
//
//   - That an accepted request survives the gateway: its client is gone with the
//     connection. Ask with "x-fairlead-async: true", or in a batch, for that.
//   - That limits of a key hold exactly over several gateways: each enforces its
//     part. Shares and limits of classes are the broker's, and do hold.
//
// docs/gateway.md describes every header, path and error.
package gateway
