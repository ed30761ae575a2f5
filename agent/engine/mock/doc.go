// Package mock is an inference engine without a GPU.
//
// Its heart, [Model], is the timing of a continuously batching engine, as vLLM
// and its peers run it: the engine works in steps; in a step every running
// sequence produces a token, and what is left of the token budget prefills
// waiting prompts, oldest first. A step lasts
//
//	prefilled/PrefillRate + TokenTime × (1 + BatchSlowdown × (decoding − 1))
//
// with a seeded jitter, so that a fuller batch slows both first tokens and
// later ones. Prompt tokens that the client declared as cached cost nothing.
// The model has no clock, no goroutine and no I/O: it says how long a step
// takes, and its caller lets the time pass. The simulator does so in virtual
// time; [Engine] does so with a timer, faster than life by Config.Speedup, and
// answers in the words of the OpenAI API.
//
// Failures are drawn by probability or by count, see [Failure]. The same seed
// and the same order of requests give the same tokens, failures and steps.
package mock
