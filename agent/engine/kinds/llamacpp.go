package kinds

import (
	"bytes"
	"context"
	"encoding/json"

	"fairlead/agent/engine"
)

// llamaCPP is llama.cpp's llama-server. Without its option --metrics the slots tell
// what runs; what the slots hold also tells the use of the KV cache, unless the
// exposition does, as that of older versions.
func llamaCPP() *kind {
	return &kind{
		name: "llamacpp", owner: "llamacpp", prefix: "llamacpp:", path: "/metrics", shy: true,
		running: named("llamacpp:requests_processing"),
		waiting: named("llamacpp:requests_deferred"),
		kv:      named("llamacpp:kv_cache_usage_ratio"),
		facts: func(ctx context.Context, e *Engine, _ exposition, to *engine.Load) error {
			if err := llamaProps(ctx, e, to); err != nil {
				return err
			}
			return llamaSlots(ctx, e, to)
		},
		signature: "/props",
		signs:     func(body []byte) bool { return bytes.Contains(body, []byte(`"total_slots"`)) },
	}
}

func llamaProps(ctx context.Context, e *Engine, to *engine.Load) error {
	var props struct {
		Slots    int    `json:"total_slots"`
		Build    string `json:"build_info"`
		Defaults struct {
			Context int64 `json:"n_ctx"`
		} `json:"default_generation_settings"`
	}
	_, err := e.ask(ctx, "/props", &props)
	to.Slots, to.Version, to.Context = max(props.Slots, 0), props.Build, max(props.Defaults.Context, 0)
	return err
}

// llamaSlot is one entry of /slots. Older versions say how many tokens it holds;
// newer ones what they are made of.
type llamaSlot struct {
	Context    int64           `json:"n_ctx"`
	Processing bool            `json:"is_processing"`
	Past       *int64          `json:"n_past"`
	Prompt     *int64          `json:"n_prompt_tokens"`
	Next       json.RawMessage `json:"next_token"`
}

// held is the tokens in the slot, false when it does not say.
func (s llamaSlot) held() (int64, bool) {
	switch {
	case !s.Processing:
		return 0, true
	case s.Past != nil:
		return *s.Past, true
	case s.Prompt != nil:
		return *s.Prompt + s.decoded(), true
	}
	return 0, false
}

// decoded reads next_token, which is an object or a list with one.
func (s llamaSlot) decoded() int64 {
	var next struct {
		Decoded int64 `json:"n_decoded"`
	}
	one := bytes.Trim(bytes.TrimSpace(s.Next), "[]")
	if json.Unmarshal(one, &next) != nil {
		return 0
	}
	return next.Decoded
}

func llamaSlots(ctx context.Context, e *Engine, to *engine.Load) error {
	var slots []llamaSlot
	there, err := e.ask(ctx, "/slots", &slots)
	if err != nil || !there || len(slots) == 0 {
		return err
	}
	var busy uint32
	var used, room int64
	known := true
	for _, s := range slots {
		if s.Processing {
			busy++
		}
		n, ok := s.held()
		known = known && ok && n >= 0
		used, room = used+n, room+max(s.Context, 0)
	}
	if to.Running == nil {
		to.Running = &busy
	}
	if to.KV == nil && known && room > 0 && used <= room {
		to.KV = new(float64(used) / float64(room))
	}
	return nil
}
