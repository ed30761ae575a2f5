package kinds

import (
	"context"

	"fairlead/agent/engine"
)

// trtllm is trtllm-serve, whose own /metrics is a JSON of iterations: the
// exposition lies elsewhere.
func trtllm() *kind {
	return &kind{
		name: "trtllm", owner: "tensorrt_llm", prefix: "trtllm_", path: "/prometheus/metrics",
		running:     named("trtllm_num_requests_running"),
		waiting:     named("trtllm_num_requests_waiting"),
		kv:          named("trtllm_kv_cache_utilization"),
		blockTokens: named("trtllm_kv_cache_tokens_per_block"),
		blocks:      named("trtllm_kv_cache_max_blocks"),
		facts: func(ctx context.Context, e *Engine, _ exposition, to *engine.Load) error {
			return e.version(ctx, to, "/version")
		},
	}
}
