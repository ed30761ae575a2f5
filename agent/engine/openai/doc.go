// Package openai runs requests on any engine that speaks the OpenAI API over
// HTTP: vLLM, SGLang, TensorRT-LLM, llama.cpp, TGI, Ollama and the rest.
//
// # What it changes in a request
//
// The body goes to the engine as the client wrote it, with two exceptions. A
// body without "model" gets the model of the request. A chat or completion
// stream whose client did not ask for usage gets
// "stream_options": {"include_usage": true}, because shares are settled by the
// tokens an engine really used; the extra chunk that the engine then sends is
// kept from the client. (Some engines add "usage": null to the other chunks as
// well; those are passed on as they are.)
//
// Of the headers, X-Request-Id names the execution, and X-Data-Parallel-Rank,
// which vLLM and SGLang heed, the rank when the broker chose one.
//
// # What it promises
//
//   - A request streams from the engine exactly when its client streams. Either
//     way a cancelled context closes the connection, which is the one way to
//     stop that every engine understands.
//   - Comments, CRLF, split and multi-line events, and events of unknown types
//     are tolerated. "[DONE]" ends a stream and is not passed on. A stream that
//     ends without it, and without a finish reason, is an error: the engine died.
//   - Nothing is read without bound: Config.MaxEvent and Config.MaxBody.
//   - An engine that sends nothing for Config.Stall is given up. Any byte counts
//     as life, also a comment.
//
// # How it reads refusals
//
// 429, 503 and 529 mean busy, with Retry-After in seconds or as a date. 400,
// 404, 405, 413, 415 and 422 are about the request. Anything else, also 401 and
// 403 (the agent's credentials, not the client's), is the engine's failure.
package openai
