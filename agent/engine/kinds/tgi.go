package kinds

import (
	"bytes"
	"context"

	"fairlead/agent/engine"
)

// tgi is Text Generation Inference. It says nothing of its KV cache, and nothing at
// all of a gauge before its first request.
func tgi() *kind {
	return &kind{
		name: "tgi", prefix: "tgi_", path: "/metrics", shy: true,
		running: named("tgi_batch_current_size"),
		waiting: named("tgi_queue_size"),
		facts: func(ctx context.Context, e *Engine, _ exposition, to *engine.Load) error {
			var info struct {
				Version    string `json:"version"`
				MaxTotal   int64  `json:"max_total_tokens"`
				Concurrent int    `json:"max_concurrent_requests"`
			}
			_, err := e.ask(ctx, "/info", &info)
			to.Version, to.Context = info.Version, max(info.MaxTotal, 0)
			return err
		},
		signature: "/info",
		signs:     func(body []byte) bool { return bytes.Contains(body, []byte(`"max_concurrent_requests"`)) },
	}
}
