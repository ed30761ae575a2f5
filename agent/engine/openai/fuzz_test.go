package openai

import (
	"encoding/json"
	"io"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"fairlead/agent/engine"
)

// FuzzSetField: whatever the object, the field is set and the rest is as before.
func FuzzSetField(f *testing.F) {
	for _, s := range []string{`{}`, ` {"a":1}`, `{"model":"x","b":[{}]}`, `{"a":{"model":1}}`, `null`, `[]`, `{"model":1,"model":2}`, "{\"\\u006dodel\":1}"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, body string) {
		out, err := setField([]byte(body), "model", "new")
		if err != nil {
			return
		}
		var before, after map[string]any
		if err := json.Unmarshal([]byte(body), &before); err != nil {
			t.Fatalf("took %q, which is no object: %v", body, err)
		}
		if err := json.Unmarshal(out, &after); err != nil {
			t.Fatalf("made %q of %q: %v", out, body, err)
		}
		if before == nil {
			t.Fatalf("took %q, which is no object", body)
		}
		before["model"] = "new"
		if !reflect.DeepEqual(before, after) {
			t.Fatalf("made %q of %q", out, body)
		}
	})
}

// FuzzStream: no body makes the reader panic, and it ends in order exactly when
// the engine said that it was done.
func FuzzStream(f *testing.F) {
	for _, s := range []string{
		"data: {}\n\ndata: [DONE]\n\n", "data: {}\r\rdata:", ":x\n\ndata: {\"usage\":{}}\n\n", "data: {\"choices\":[{\"finish_reason\":\"stop\"}]}\n\n",
		"data: {\"error\":1}\n\n", "event: x\ndata: {\ndata: }\n\n", "\ufeffdata: 1\n\n", "data: {\"type\":\"response.completed\"}\n\n",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, body string) {
		a := answer{
			engine: &Engine{cfg: Config{}.withDefaults()}, req: engine.Request{Stream: true},
			emit: func(data []byte, _ *engine.Result) error {
				if !json.Valid(data) {
					t.Errorf("emitted %q", data)
				}
				return nil
			},
		}
		resp := &http.Response{Header: http.Header{"Content-Type": {"text/event-stream"}}}
		_, err := a.read(resp, io.NopCloser(strings.NewReader(body)))
		if ends := strings.Contains(body, "[DONE]") || strings.Contains(body, "finish_reason") || strings.Contains(body, `response.`) || strings.Contains(body, `\u`); err == nil && !ends {
			t.Errorf("%q ended in order", body)
		}
	})
}
