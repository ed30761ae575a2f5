package engine

import (
	"context"
	"net/http"
	"time"
)

// The engine paths that requests may name. The list is closed.
const (
	PathChat        = "/v1/chat/completions"
	PathCompletions = "/v1/completions"
	PathEmbeddings  = "/v1/embeddings"
	PathResponses   = "/v1/responses"
)

// Engine is one inference engine. Its methods may be called concurrently.
type Engine interface {
	// Kind names the adapter, such as "mock" or "openai".
	Kind() string
	// Models lists the names of the models the engine serves now.
	Models(ctx context.Context) ([]string, error)
	// Healthy returns nil when the engine can take a request.
	Healthy(ctx context.Context) error
	// Run executes one request. For a streaming request every chunk goes to
	// emit as one SSE data payload (without "data: "), in order; an error from
	// emit ends the run and is returned. For any other request the whole answer
	// is in Result.Body and emit is not called.
	//
	// On an error the Result still holds the timings and the usage known so far.
	Run(ctx context.Context, req Request, emit Emit) (Result, error)
}

// Emit receives one chunk. It owns data until it returns, not longer.
type Emit func(data []byte) error

// Request is one inference call.
type Request struct {
	// ID and Attempt name the execution; engines show them in their logs.
	ID      uint64
	Attempt int
	// Path is one of the Path constants; Model is empty when the body names it.
	Path  string
	Model string
	// Body is the JSON the client wrote.
	Body []byte
	// Header holds further HTTP headers for the engine, such as traceparent.
	Header http.Header
	// Token counts as the client declared them; 0 means unknown.
	InputTokens, CachedTokens, MaxOutputTokens int64
	// Rank is the data-parallel rank to run on; nil leaves it to the engine.
	Rank *int32
	// Stream says that the client asked for chunks ("stream": true in the body).
	Stream bool
	// Prefilled, unless nil, takes the word that the prompt has been computed. An
	// engine that knows calls it in every run, once, from the run's goroutine and
	// before its first output; others never call it.
	Prefilled func()
}

// Result is what a finished, or broken off, run amounts to.
type Result struct {
	// Body is the whole answer to a request that did not stream.
	Body []byte
	// ContentType is the media type of Body, or of a chunk.
	ContentType string
	Usage       Usage
	// FirstToken is the time from the start of the run to its first output,
	// 0 when there was none; Total is the time to its end.
	FirstToken, Total time.Duration
}

// Usage counts tokens as the engine reported them; zeros when it did not.
type Usage struct {
	PromptTokens, CachedTokens, OutputTokens int64
	// Known says that the engine reported usage at all, CachedKnown that it
	// reported cached tokens: their absence means unknown, not 0.
	Known, CachedKnown bool
}
