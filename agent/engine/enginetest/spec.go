package enginetest

import "embed"

//go:embed fixtures
var fixtures embed.FS

// spec is what one kind of engine serves.
type spec struct {
	models     string
	metrics    string            // path of the exposition; "" has none
	exposition string            // file in fixtures
	json       map[string]string // further endpoints
	health     bool              // serves /health
	stream     []string          // data of a stream's events
	whole      string            // an answer that does not stream
}

// Two ways to end a stream, as engines count.
const (
	hello    = `{"id":"c1","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"role":"assistant","content":"Hello"},"finish_reason":null}]}`
	world    = `{"id":"c1","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":" world"},"finish_reason":"stop"}]}`
	counted  = `{"id":"c1","object":"chat.completion.chunk","choices":[],"usage":{"prompt_tokens":12,"completion_tokens":2,"total_tokens":14}}`
	cached   = `{"id":"c1","object":"chat.completion.chunk","choices":[],"usage":{"prompt_tokens":12,"completion_tokens":2,"total_tokens":14,"prompt_tokens_details":{"cached_tokens":8}}}`
	unknown  = `{"id":"c1","object":"chat.completion.chunk","choices":[],"usage":{"prompt_tokens":12,"completion_tokens":2,"total_tokens":14,"prompt_tokens_details":null}}`
	whole    = `{"id":"c1","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"Hello world"},"finish_reason":"stop"}],"usage":{"prompt_tokens":12,"completion_tokens":2,"total_tokens":14}}`
	slots    = `[{"id":0,"n_ctx":4096,"is_processing":true,"n_prompt_tokens":1000,"next_token":[{"n_decoded":24,"n_remain":-1}]},{"id":1,"n_ctx":4096,"is_processing":true,"n_prompt_tokens":1024,"next_token":{"n_decoded":0}},{"id":2,"n_ctx":4096,"is_processing":false,"n_prompt_tokens":4000},{"id":3,"n_ctx":4096,"is_processing":false}]`
	oldSlots = `[{"id":0,"n_ctx":2048,"is_processing":true,"n_past":512},{"id":1,"n_ctx":2048,"is_processing":false,"n_past":2000}]`
)

func owned(id, owner string) string {
	return `{"object":"list","data":[{"id":"` + id + `","object":"model","owned_by":"` + owner + `"}]}`
}

// specs are the engines, by kind; what follows a dash is a variant.
func specs() map[string]spec {
	props := map[string]string{"/props": `{"total_slots":4,"build_info":"b8681-abc","default_generation_settings":{"n_ctx":4096}}`, "/slots": slots}
	return map[string]spec{
		"vllm": {models: owned("llama-3.1-8b", "vllm"), metrics: "/metrics", exposition: "vllm.prom", health: true,
			json: map[string]string{"/version": `{"version":"0.11.0"}`}, stream: []string{hello, world, cached}, whole: whole},
		"vllm-old": {models: owned("llama-3.1-8b", "somebody"), metrics: "/metrics", exposition: "vllm-old.prom", health: true,
			stream: []string{hello, world, unknown}, whole: whole},
		"sglang": {models: owned("qwen3-8b", "sglang"), metrics: "/metrics", exposition: "sglang.prom", health: true,
			json: map[string]string{"/get_server_info": `{"version":"0.4.6","model_path":"qwen"}`}, stream: []string{hello, world, cached}, whole: whole},
		"sglang-ranks": {models: owned("qwen3-8b", "sglang"), metrics: "/metrics", exposition: "sglang-ranks.prom", health: true,
			json: map[string]string{"/server_info": `{"version":"0.5.6"}`}, stream: []string{hello, world, unknown}, whole: whole},
		"trtllm": {models: owned("llama-3.1-8b", "tensorrt_llm"), metrics: "/prometheus/metrics", exposition: "trtllm.prom", health: true,
			json: map[string]string{"/version": `{"version":"1.2.0"}`, "/metrics": `[{"iter":1}]`}, stream: []string{hello, world, counted}, whole: whole},
		"triton": {models: owned("tensorrt_llm", "Triton Inference Server"), metrics: "/metrics", exposition: "triton.prom",
			stream: []string{hello, world, counted}, whole: whole},
		"tgi": {models: owned("meta/llama", "meta/llama"), metrics: "/metrics", exposition: "tgi.prom", health: true,
			json:   map[string]string{"/info": `{"model_id":"meta/llama","version":"3.3.5","max_concurrent_requests":128,"max_total_tokens":8192}`},
			stream: []string{hello, world, counted}, whole: whole},
		"tgi-fresh": {models: owned("meta/llama", "meta/llama"), metrics: "/metrics", exposition: "tgi-fresh.prom", health: true,
			stream: []string{hello, world}, whole: whole},
		"llamacpp": {models: owned("qwen3.gguf", "llamacpp"), metrics: "/metrics", exposition: "llamacpp.prom", health: true,
			json: props, stream: []string{hello, world, cached}, whole: whole},
		"llamacpp-old": {models: owned("qwen3.gguf", "llamacpp"), metrics: "/metrics", exposition: "llamacpp-old.prom", health: true,
			stream: []string{hello, world}, whole: whole},
		"llamacpp-bare": {models: owned("qwen3.gguf", "llamacpp"), health: true,
			json: map[string]string{"/slots": oldSlots}, stream: []string{hello, world}, whole: whole},
		"ollama": {models: owned("llama3:latest", "library"), json: map[string]string{
			"/api/version": `{"version":"0.12.3"}`,
			"/api/ps":      `{"models":[{"name":"llama3:latest","size_vram":5137025024,"context_length":4096},{"name":"qwen3:4b","size_vram":2000000000,"context_length":8192}]}`,
		}, stream: []string{hello, world, counted}, whole: whole},
		"openai": {models: owned("m", "organization-owner"), stream: []string{hello, world, counted}, whole: whole},
		"odd":    {models: owned("m", "vllm"), metrics: "/metrics", exposition: "odd.prom", health: true, stream: []string{hello, world}, whole: whole},
	}
}
