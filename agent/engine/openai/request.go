package openai

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"

	"fairlead/agent/engine"
)

// prepare returns the body to send, and whether the usage chunk of its stream
// is ours alone, to be kept from the client.
func prepare(req engine.Request) (body []byte, hideUsage bool, err error) {
	opts, err := engine.ReadOptions(req.Body)
	if err != nil {
		return nil, false, refuse(err)
	}
	body = req.Body
	if opts.Model == "" && req.Model != "" {
		if body, err = setField(body, "model", req.Model); err != nil {
			return nil, false, refuse(err)
		}
	}
	countable := req.Path == engine.PathChat || req.Path == engine.PathCompletions
	if !req.Stream || !countable || opts.WantsUsage() {
		return body, false, nil
	}
	if body, err = setField(body, "stream_options", engine.StreamOptions{IncludeUsage: true}); err != nil {
		return nil, false, refuse(err)
	}
	return body, true, nil
}

func refuse(err error) error {
	message, _ := json.Marshal(err.Error()) // a string: cannot fail
	return &engine.RequestError{Status: http.StatusBadRequest, ContentType: "application/json",
		Body: fmt.Appendf(nil, `{"error":{"message":%s,"type":"invalid_request_error","code":400}}`, message)}
}

// setField sets a field of a JSON object. When the object does not have it, as
// is usual, the rest stays byte for byte the same.
func setField(body []byte, name string, value any) ([]byte, error) {
	encoded, err := json.Marshal(value)
	if err != nil {
		return nil, fmt.Errorf("set %s in the body: %w", name, err)
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(body, &fields); err != nil {
		return nil, fmt.Errorf("body: not a JSON object: %w", err)
	}
	if _, has := fields[name]; has {
		fields[name] = encoded
		return marshalPlain(fields)
	}
	_, rest, found := bytes.Cut(body, []byte("{"))
	if !found { // null is no object, but Unmarshal takes it for one
		return nil, fmt.Errorf("body: %.20s is no JSON object", body)
	}
	comma := ","
	if len(fields) == 0 {
		comma = ""
	}
	return fmt.Appendf(nil, "{%q:%s%s%s", name, encoded, comma, rest), nil
}

// marshalPlain is json.Marshal without turning < > & into escapes.
func marshalPlain(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, fmt.Errorf("encode the body: %w", err)
	}
	return bytes.TrimRight(b.Bytes(), "\n"), nil
}

func (e *Engine) newRequest(ctx context.Context, req engine.Request, body []byte) (*http.Request, error) {
	out, err := http.NewRequestWithContext(ctx, http.MethodPost, e.base.JoinPath(req.Path).String(), bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("POST %s: %w", req.Path, err)
	}
	for name, values := range req.Header {
		for _, v := range values {
			out.Header.Add(name, v)
		}
	}
	out.Header.Set("Content-Type", "application/json")
	out.Header.Set("Accept", "application/json, text/event-stream")
	out.Header.Set("X-Request-Id", fmt.Sprintf("fairlead-%d-%d", req.ID, req.Attempt))
	if req.Rank != nil {
		out.Header.Set("X-Data-Parallel-Rank", strconv.Itoa(int(*req.Rank)))
	}
	e.authorize(out)
	return out, nil
}
