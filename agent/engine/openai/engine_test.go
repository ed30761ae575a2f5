package openai

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"fairlead/agent/engine"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func serve(t *testing.T, h http.HandlerFunc) *Engine {
	t.Helper()
	return serveWith(t, Config{}, h)
}

func serveWith(t *testing.T, cfg Config, h http.HandlerFunc) *Engine {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	cfg.URL = srv.URL + "/v1/"
	e, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return e
}

func request(body string) engine.Request {
	return engine.Request{ID: 7, Attempt: 2, Path: engine.PathChat, Body: []byte(body), Stream: strings.Contains(body, `"stream":true`)}
}

// sseBody answers every request with one body of server-sent events.
func sseBody(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
		io.WriteString(w, body)
	}
}

func stream(t *testing.T, e *Engine, body string) ([]string, engine.Result, error) {
	t.Helper()
	var chunks []string
	res, err := e.Run(t.Context(), request(body), func(data []byte) error {
		chunks = append(chunks, string(data))
		return nil
	})
	return chunks, res, err
}

const (
	hello  = `{"choices":[{"delta":{"content":"hello"}}]}`
	world  = `{"choices":[{"delta":{"content":"world"},"finish_reason":"stop"}]}`
	counts = `{"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":1}}}`
)

func TestStreams(t *testing.T) {
	used := engine.Usage{PromptTokens: 3, CachedTokens: 1, OutputTokens: 2, Known: true, CachedKnown: true}
	for name, tc := range map[string]struct {
		body string
		want []string
		use  engine.Usage
	}{
		"plain":                    {"data: " + hello + "\n\ndata: " + world + "\n\ndata: [DONE]\n\n", []string{hello, world}, engine.Usage{}},
		"comments and crlf":        {": ping\r\n\r\ndata: " + hello + "\r\n\r\n: ping\r\n\r\ndata:" + world + "\r\n\r\ndata: [DONE]\r\n\r\n", []string{hello, world}, engine.Usage{}},
		"multi-line event":         {"event: x\nid: 4\nretry: 10\ndata: {\"choices\":\ndata: [{}]}\n\ndata: [DONE]\n\n", []string{"{\"choices\":\n[{}]}"}, engine.Usage{}},
		"byte order mark":          {"\ufeffdata: " + world + "\n\ndata: [DONE]\n\n", []string{world}, engine.Usage{}},
		"our own usage is hidden":  {"data: " + world + "\n\ndata: " + counts + "\n\ndata: [DONE]\n\n", []string{world}, used},
		"last blank line missing":  {"data: " + world + "\n\ndata: [DONE]", []string{world}, engine.Usage{}},
		"no done, but a finish":    {"data: " + world + "\n\ndata: " + counts + "\n\n", []string{world}, used},
		"nothing after done":       {"data: [DONE]\n\ndata: " + hello + "\n\n", nil, engine.Usage{}},
		"empty data and no choice": {"data:\n\ndata: {}\n\ndata: [DONE]\n\n", []string{"{}"}, engine.Usage{}},
	} {
		t.Run(name, func(t *testing.T) {
			chunks, res, err := stream(t, serve(t, sseBody(tc.body)), `{"stream":true}`)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, chunks); diff != "" {
				t.Error(diff)
			}
			if res.Usage != tc.use || res.Total <= 0 || res.FirstToken <= 0 {
				t.Errorf("got %+v, want usage %+v and times", res, tc.use)
			}
		})
	}
}

func TestUsageTheClientAskedForIsPassedOn(t *testing.T) {
	e := serve(t, sseBody("data: "+counts+"\n\ndata: [DONE]\n\n"))
	chunks, _, err := stream(t, e, `{"stream":true,"stream_options":{"include_usage":true}}`)
	if diff := cmp.Diff([]string{counts}, chunks); err != nil || diff != "" {
		t.Fatal(err, diff)
	}
}

func TestResponsesStream(t *testing.T) {
	delta := `{"type":"response.output_text.delta","delta":"hi"}`
	end := `{"type":"response.completed","response":{"usage":{"input_tokens":5,"output_tokens":6}}}`
	var got string
	e := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got = r.URL.Path + " " + string(body)
		sseBody("event: response.output_text.delta\ndata: "+delta+"\n\nevent: response.completed\ndata: "+end+"\n\n")(w, r)
	})
	req := request(`{"stream":true}`)
	req.Path = engine.PathResponses
	var chunks []string
	res, err := e.Run(t.Context(), req, func(data []byte) error { chunks = append(chunks, string(data)); return nil })
	if diff := cmp.Diff([]string{delta, end}, chunks); err != nil || diff != "" {
		t.Fatal(err, diff)
	}
	if res.Usage != (engine.Usage{PromptTokens: 5, OutputTokens: 6, Known: true}) {
		t.Errorf("usage %+v", res.Usage)
	}
	if want := `/v1/responses {"stream":true}`; got != want {
		t.Errorf("the engine got %s, want %s", got, want)
	}
}

func TestBrokenStreams(t *testing.T) {
	for name, tc := range map[string]struct{ body, want string }{
		"ends too soon":  {"data: " + hello + "\n\n", "broke off"},
		"ends at once":   {"", "broke off"},
		"half a chunk":   {"data: " + hello[:20], "read a chunk"},
		"error chunk":    {"data: {\"error\":{\"message\":\"out of memory\"}}\n\ndata: [DONE]\n\n", "out of memory"},
		"response error": {"data: {\"type\":\"response.failed\"}\n\n", "response.failed"},
		"huge event":     {"data: " + strings.Repeat("x", 5000) + "\n\n", "over the limit of 4096 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := stream(t, serveWith(t, Config{MaxEvent: 4096}, sseBody(tc.body)), `{"stream":true}`)
			if err == nil || !strings.Contains(err.Error(), tc.want) || typed(err) {
				t.Fatalf("got %v, want an engine error with %q", err, tc.want)
			}
		})
	}
}

// typed says that an error is one of those that a caller treats specially.
func typed(err error) bool {
	var busy *engine.BusyError
	var req *engine.RequestError
	var gone *engine.UnavailableError
	return errors.As(err, &busy) || errors.As(err, &req) || errors.As(err, &gone)
}

func TestDeathMidStream(t *testing.T) {
	e := serve(t, func(w http.ResponseWriter, r *http.Request) {
		sseBody("data: "+hello+"\n\n")(w, r)
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	})
	chunks, res, err := stream(t, e, `{"stream":true}`)
	if !errors.Is(err, errBrokenOff) || len(chunks) != 1 || res.FirstToken <= 0 {
		t.Fatalf("got %v after %v, want it broken off after one chunk", err, chunks)
	}
}

func TestWholeAnswer(t *testing.T) {
	const body = `{"choices":[{"message":{"content":"<hi>"}}],"usage":{"prompt_tokens":3,"completion_tokens":2}}`
	var got *http.Request
	var sent string
	e := serveWith(t, Config{APIKey: "secret"}, func(w http.ResponseWriter, r *http.Request) {
		data, _ := io.ReadAll(r.Body)
		got, sent = r, string(data)
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, body)
	})
	req := request(`{"messages":["<b>"], "seed": 1}`)
	rank := int32(3)
	req.Model, req.Header, req.Rank = "m", http.Header{"Traceparent": {"00-1-2-01"}}, &rank
	res, err := e.Run(t.Context(), req, nil)
	if err != nil || string(res.Body) != body || res.ContentType != "application/json" {
		t.Fatalf("got %+v, %v", res, err)
	}
	if res.Usage != (engine.Usage{PromptTokens: 3, OutputTokens: 2, Known: true}) || res.FirstToken != res.Total {
		t.Errorf("got %+v", res)
	}
	if want := `{"model":"m","messages":["<b>"], "seed": 1}`; sent != want {
		t.Errorf("sent %s, want %s", sent, want)
	}
	for name, want := range map[string]string{
		"Authorization": "Bearer secret", "Traceparent": "00-1-2-01", "X-Request-Id": "fairlead-7-2", "Content-Type": "application/json",
		"X-Data-Parallel-Rank": "3",
	} {
		if v := got.Header.Get(name); v != want {
			t.Errorf("%s: %q, want %q", name, v, want)
		}
	}
}

func TestStreamAskedButAnsweredWhole(t *testing.T) {
	e := serve(t, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, `{"choices":[]}`) })
	chunks, res, err := stream(t, e, `{"stream":true}`)
	if err != nil || len(chunks) != 0 || string(res.Body) != `{"choices":[]}` {
		t.Fatalf("got %v, %s, %v", chunks, res.Body, err)
	}
}

func TestBadWholeAnswers(t *testing.T) {
	for want, body := range map[string]string{
		"over the limit of 64 bytes": `{"x":"` + strings.Repeat("x", 100) + `"}`,
		"read the engine's answer":   "<html>",
	} {
		e := serveWith(t, Config{MaxBody: 64}, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, body) })
		if _, err := e.Run(t.Context(), request(`{}`), nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	if _, err := serve(t, sseBody("data: {}\n\n")).Run(t.Context(), request(`{}`), nil); err == nil || typed(err) {
		t.Errorf("a stream nobody asked for: %v", err)
	}
}
