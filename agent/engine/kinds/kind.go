package kinds

import (
	"context"

	"fairlead/agent/engine"
)

// Auto is the name of the kind that is found out.
const Auto = "auto"

// Plain is any engine that speaks the OpenAI API, without a load of its own.
const Plain = "openai"

// kind is what is known of one kind of engine.
type kind struct {
	name string
	// owner is what its models are "owned_by", "" when that tells nothing.
	owner string
	// prefix starts the names of its metrics.
	prefix string
	// path is where its exposition is; "" when it has none.
	path string
	// shy says that a metric is there only once it has had a value, so that an
	// exposition without any of the names is no failure.
	shy bool
	// The series to read, the newest name first.
	running, waiting, kv []series
	// blockTokens and blocks tell the KV cache's shape.
	blockTokens, blocks []series
	// facts, unless nil, fills in what other endpoints say. It asks through e, and
	// reads from x what the series above cannot say.
	facts func(ctx context.Context, e *Engine, x exposition, to *engine.Load) error
	// signature is an endpoint that nobody else has, "" for none, and signs says
	// whether an answer is its.
	signature string
	signs     func(body []byte) bool
}

// all lists the kinds, in the order in which they are tried.
func all() []*kind {
	return []*kind{vllm(), sglang(), trtllm(), triton(), tgi(), llamaCPP(), ollama()}
}

// Names lists what [Config].Kind may be.
func Names() []string {
	names := []string{Auto, Plain}
	for _, k := range all() {
		names = append(names, k.name)
	}
	return names
}

func byName(name string) *kind {
	for _, k := range all() {
		if k.name == name {
			return k
		}
	}
	return nil
}
