// Package prompt reads of a request's body what a gateway has to know: the
// model, whether it streams, the bound on its output, and an estimate of the
// tokens of its prompt. The body itself is passed on as it is.
//
// # How tokens are counted
//
// Text is counted with the vocabulary o200k_base, which is embedded. For models
// of other families that is an estimate, mostly within 15 % for English text;
// the shares of classes only need one measure for everybody, and what the engine
// reports corrects the account afterwards.
//
// Chat templates are approximated: each message costs 3 tokens beside its role,
// name and content, and the beginning of the answer 3 more. Tools, functions,
// tool calls and response formats count as the JSON text that they are, and
// each tool 8 tokens of frame.
//
// Media count by these rules:
//   - An image of detail "low" is 85 tokens. Any other is 85, and 170 for each
//     tile of 512 × 512 pixels, after scaling it into 2048 × 2048 and its short
//     side down to 768. The size is read from the head of a data URL (PNG, JPEG,
//     GIF); an image that only has an address counts as 1024 × 1024: 765.
//   - Audio is 1 token for 1,600 bytes, some ten a second.
//   - A file with its data is 1 token for 4 bytes; one named by id is 0.
//
// # Bounded work
//
// Up to [MaxExact] bytes of text are counted. Of longer prompts 64 samples of
// 4 KiB, evenly spread, are counted and scaled up. Text goes through the
// vocabulary in pieces of at most 4 KiB, cut at a blank where there is one, so
// that no text makes the work grow faster than its length. Lists are taken apart
// as deep as OpenAI's API has them, and into 16 Ki items in all; what is below
// that or comes after it counts as the JSON text that it is.
package prompt
