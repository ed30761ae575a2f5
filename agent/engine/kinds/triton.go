package kinds

// triton is Triton Inference Server with the TensorRT-LLM backend behind its OpenAI
// frontend. Its metrics have a port of their own (8002), which
// [Config].MetricsURL names. The kind of a number is in a label.
func triton() *kind {
	const requests, blocks = "nv_trt_llm_request_metrics", "nv_trt_llm_kv_cache_block_metrics"
	block := func(what string) []series { return []series{{blocks, "kv_cache_block_type", what}} }
	return &kind{
		name: "triton", owner: "Triton Inference Server", prefix: "nv_trt_llm_", path: "/metrics",
		running:     []series{{requests, "request_type", "scheduled"}},
		waiting:     []series{{requests, "request_type", "waiting"}},
		kv:          block("fraction"),
		blockTokens: block("tokens_per"),
		blocks:      block("max"),
	}
}
