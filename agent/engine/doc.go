// Package engine says what an agent needs from an inference engine: run one
// request, stream its answer, stop at once when told to, and be honest about
// why something failed. It knows nothing of NATS, queues or claims.
//
// An adapter promises:
//
//   - emit is called from Run's own goroutine, in order, and never after Run
//     has returned;
//   - when the context ends, the engine stops computing (for HTTP engines: the
//     connection is closed) and Run returns soon, with the context's cause;
//   - an error is one of four kinds, because its caller acts in four ways:
//     [*BusyError] (the request goes back to its lane), [*RequestError] (the
//     client gets it as it is), [*UnavailableError] (nothing was started), and
//     anything else (the engine failed while working).
//
// Not promised: that an answer is well-formed beyond what the adapter must read
// to find its end and its usage; that tokens are counted when the engine does
// not count them.
//
// An engine that can tell how busy it is implements [Loader] as well.
//
// Adapters live in packages of their own: [fairlead/agent/engine/openai] for
// any OpenAI-compatible URL, [fairlead/agent/engine/kinds] for what vLLM, SGLang
// and the others have beyond that, [fairlead/agent/engine/mock] for tests, demos
// and simulation. To add one, implement [Engine] and list it in cmd/worker-agent.
package engine
