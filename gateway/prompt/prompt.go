package prompt

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
)

// Prompt is what the body of a request says.
type Prompt struct {
	Model     string // "" when the body names none
	Stream    bool
	Input     uint32 // tokens of the prompt, estimated; at least 1
	MaxOutput uint32 // tokens, of all choices together; 0 when the body does not bound it
	Sampled   bool   // Input was scaled up from samples
}

// maxTokens is the most that a header of Fairlead takes.
const maxTokens = 1 << 31

// body is every field that matters here. What an engine may spell in more than
// one way stays raw, and is read leniently: it is the engine's to refuse.
type body struct {
	Model               string          `json:"model"`
	Stream              bool            `json:"stream"`
	MaxTokens           float64         `json:"max_tokens"`
	MaxCompletionTokens float64         `json:"max_completion_tokens"`
	MaxOutputTokens     float64         `json:"max_output_tokens"`
	N                   float64         `json:"n"`
	Messages            json.RawMessage `json:"messages"`
	Prompt              json.RawMessage `json:"prompt"`
	Suffix              json.RawMessage `json:"suffix"`
	Input               json.RawMessage `json:"input"`
	Instructions        json.RawMessage `json:"instructions"`
	Tools               json.RawMessage `json:"tools"`
	Functions           json.RawMessage `json:"functions"`
	ResponseFormat      json.RawMessage `json:"response_format"`
	Text                json.RawMessage `json:"text"`
}

// Read reads a body. The error names the field at fault and is fit for the client.
func Read(data []byte) (Prompt, error) {
	if len(bytes.TrimSpace(data)) == 0 {
		return Prompt{}, errors.New("body: is empty; want a JSON object")
	}
	var b body
	err := json.Unmarshal(data, &b)
	var wrong *json.UnmarshalTypeError
	switch {
	case errors.As(err, &wrong) && wrong.Field == "":
		return Prompt{}, fmt.Errorf("body: is a JSON %s; want an object", wrong.Value)
	case errors.As(err, &wrong):
		return Prompt{}, fmt.Errorf("%s: is a JSON %s; want a %s", wrong.Field, wrong.Value, jsonName(wrong.Type.String()))
	case err != nil:
		return Prompt{}, fmt.Errorf("body: not a JSON object: %w", err)
	case len(b.Model) > 256:
		return Prompt{}, fmt.Errorf("model: %d bytes; want at most 256", len(b.Model))
	}
	var t text
	b.collect(&t)
	n, sampled := t.count()
	return Prompt{Model: b.Model, Stream: b.Stream, Input: max(clamp(n), 1), MaxOutput: b.maxOutput(), Sampled: sampled}, nil
}

func jsonName(goType string) string {
	switch goType {
	case "bool":
		return "boolean"
	case "float64":
		return "number"
	}
	return goType
}

// maxOutput is the body's bound on output tokens, for all its choices.
func (b *body) maxOutput() uint32 {
	for _, limit := range []float64{b.MaxCompletionTokens, b.MaxOutputTokens, b.MaxTokens} {
		if limit >= 1 {
			return clamp(limit * max(b.N, 1))
		}
	}
	return 0
}

func clamp(n float64) uint32 { return uint32(max(0, min(math.Ceil(n), maxTokens))) }

// Frames of a chat template, in tokens.
const (
	perMessage = 3
	perAnswer  = 3
	perTool    = 8
)

func (b *body) collect(t *text) {
	if len(b.Messages) > 0 {
		t.frame += perAnswer
		t.messages(b.Messages)
	}
	t.plain(b.Prompt, plainLists)
	t.plain(b.Suffix, plainLists)
	t.content(b.Instructions)
	if !t.messagesOf(b.Input) { // of the responses API
		t.plain(b.Input, plainLists)
	}
	for _, raw := range []json.RawMessage{b.Tools, b.Functions} {
		t.json(raw)
		t.frame += perTool * float64(count(raw))
	}
	t.json(b.ResponseFormat)
	t.json(b.Text)
}
