package kinds

import (
	"context"

	"fairlead/agent/engine"
)

// sglang shows metrics when it was started with --enable-metrics. Every scheduler
// may report for itself, so that the ranks of one data-parallel rank repeat each
// other.
func sglang() *kind {
	const shape = "sglang:cache_config_info"
	return &kind{
		name: "sglang", owner: "sglang", prefix: "sglang:", path: "/metrics",
		running:     named("sglang:num_running_reqs"),
		waiting:     named("sglang:num_queue_reqs"),
		kv:          named("sglang:token_usage"),
		blockTokens: []series{{name: shape, label: "page_size"}},
		blocks:      []series{{name: shape, label: "num_pages"}},
		facts: func(ctx context.Context, e *Engine, _ exposition, to *engine.Load) error {
			return e.version(ctx, to, "/server_info", "/get_server_info") // the older name
		},
	}
}
