package engine

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
)

// Options are the fields of a request body that an agent must know. The rest
// of the body, above all the prompt, stays unread.
type Options struct {
	Model  string `json:"model"`
	Stream bool   `json:"stream"`
	// MaxTokens is the body's own bound on output tokens; 0 when it has none. Some
	// clients write 100.0.
	MaxTokens           float64        `json:"max_tokens"`
	MaxCompletionTokens float64        `json:"max_completion_tokens"`
	StreamOptions       *StreamOptions `json:"stream_options"`
}

// StreamOptions is the body field of the same name.
type StreamOptions struct {
	IncludeUsage bool `json:"include_usage"`
}

// WantsUsage says whether the client asked for a chunk with the usage.
func (o Options) WantsUsage() bool { return o.StreamOptions != nil && o.StreamOptions.IncludeUsage }

// OutputLimit returns the body's bound on output tokens, 0 when it has none.
func (o Options) OutputLimit() int64 {
	limit := o.MaxTokens
	if o.MaxCompletionTokens > 0 {
		limit = o.MaxCompletionTokens
	}
	return int64(min(max(limit, 0), math.MaxInt32))
}

// ReadOptions reads a request body. The error names the field at fault and is
// fit for the client.
func ReadOptions(body []byte) (Options, error) {
	var o Options
	if len(bytes.TrimSpace(body)) == 0 {
		return o, errors.New("body: is empty, want a JSON object")
	}
	err := json.Unmarshal(body, &o)
	var wrongType *json.UnmarshalTypeError
	if errors.As(err, &wrongType) {
		return o, fmt.Errorf("body: %s is a JSON %s, want %s", fieldName(wrongType), wrongType.Value, wrongType.Type)
	}
	switch {
	case err != nil:
		return o, fmt.Errorf("body: not a JSON object: %w", err)
	case o.MaxTokens != math.Trunc(o.MaxTokens):
		return o, fmt.Errorf("body: max_tokens is %v, want a whole number", o.MaxTokens)
	case o.MaxCompletionTokens != math.Trunc(o.MaxCompletionTokens):
		return o, fmt.Errorf("body: max_completion_tokens is %v, want a whole number", o.MaxCompletionTokens)
	}
	return o, nil
}

func fieldName(e *json.UnmarshalTypeError) string {
	if e.Field == "" {
		return "it"
	}
	return e.Field
}
