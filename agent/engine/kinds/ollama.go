package kinds

import (
	"bytes"
	"context"

	"fairlead/agent/engine"
)

// ollama has no metrics: how many requests run or wait in it is unknown. What it
// says is which models are loaded.
func ollama() *kind {
	return &kind{
		name: "ollama", owner: "library",
		facts: func(ctx context.Context, e *Engine, _ exposition, to *engine.Load) error {
			var loaded struct {
				Models []struct {
					VRAM    int64 `json:"size_vram"`
					Context int64 `json:"context_length"`
				} `json:"models"`
			}
			if _, err := e.ask(ctx, "/api/ps", &loaded); err != nil {
				return err
			}
			for _, m := range loaded.Models {
				to.VRAM += max(m.VRAM, 0)
				to.Context = max(to.Context, m.Context)
			}
			return e.version(ctx, to, "/api/version")
		},
		signature: "/api/version",
		signs:     func(body []byte) bool { return bytes.Contains(body, []byte(`"version"`)) },
	}
}
