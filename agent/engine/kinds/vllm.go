package kinds

import (
	"context"

	"fairlead/agent/engine"
)

// vllm counts by engine (data-parallel rank) and model. Before its version 0.10 the
// use of the KV cache was called that of the GPU cache.
func vllm() *kind {
	const shape = "vllm:cache_config_info"
	return &kind{
		name: "vllm", owner: "vllm", prefix: "vllm:", path: "/metrics",
		running:     named("vllm:num_requests_running"),
		waiting:     named("vllm:num_requests_waiting"),
		kv:          named("vllm:kv_cache_usage_perc", "vllm:gpu_cache_usage_perc"),
		blockTokens: []series{{name: shape, label: "block_size"}},
		blocks:      []series{{name: shape, label: "num_gpu_blocks"}},
		facts: func(ctx context.Context, e *Engine, _ exposition, to *engine.Load) error {
			return e.version(ctx, to, "/version")
		},
	}
}
