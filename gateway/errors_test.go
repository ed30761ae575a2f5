package gateway_test

import (
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"fairlead/agent/engine/mock"
	"fairlead/gateway"
	"fairlead/gateway/keys"
)

func parseKeys(t testing.TB, text string) *keys.Set {
	t.Helper()
	s, err := keys.Parse([]byte("secret: 0123456789abcdef0123456789abcdef\n" + text))
	must(t, err)
	return s
}

// What is wrong with a request is told at once, in OpenAI's shape.
func TestRefusals(t *testing.T) {
	t.Parallel()
	r := newRig(t, twoClasses)
	r.agent("w1", quick())
	g := r.gateway(gateway.Config{Class: "regular", MaxBody: 4096, BodyMemory: 1 << 20})
	const path = "/v1/chat/completions"
	for name, c := range map[string]struct {
		method, path, body, header string
		status                     int
		code, message              string
	}{
		"no JSON":             {body: "hello", status: 400, code: "invalid_request", message: "body: not a JSON object"},
		"empty":               {body: "", status: 400, code: "invalid_request", message: "body: is empty"},
		"wrong type":          {body: `{"stream":1}`, status: 400, code: "invalid_request", message: "stream"},
		"class":               {body: hello, header: "x-fairlead-class: a.b", status: 400, code: "invalid_request", message: "x-fairlead-class: want"},
		"two classes":         {body: hello, header: "x-fairlead-class: premium\nx-dynamo-meta-policy-class: regular", status: 400, code: "invalid_request", message: "X-Dynamo"},
		"priority":            {body: hello, header: "x-fairlead-priority: high", status: 400, code: "invalid_request", message: "x-fairlead-priority: "},
		"ttl":                 {body: hello, header: "x-fairlead-ttl: 5ms", status: 400, code: "invalid_request", message: "x-fairlead-ttl: "},
		"tenant":              {body: hello, header: "x-fairlead-tenant: a b", status: 400, code: "invalid_request", message: "x-fairlead-tenant: "},
		"misspelt":            {body: hello, header: "x-fairlead-clas: premium", status: 400, code: "invalid_request", message: "x-fairlead-clas: unknown"},
		"queue":               {body: hello, header: "x-fairlead-queue: maybe", status: 400, code: "invalid_request", message: "x-fairlead-queue: want"},
		"always, and streams": {body: streaming(hello), header: "x-fairlead-retry: always", status: 400, code: "invalid_request", message: "x-fairlead-retry: "},
		"compressed":          {body: hello, header: "Content-Encoding: gzip", status: 415, code: "unsupported", message: "compressed"},
		"model":               {body: strings.Replace(hello, "mock", "gpt-4o", 1), status: 404, code: "model_not_found", message: `"gpt-4o"`},
		"too large":           {body: strings.Repeat("x", 4097), status: 413, code: "too_large", message: "4096"},
		"unknown path":        {path: "/v1/images", body: hello, status: 404, code: "not_found", message: "/v1/images"},
		"method":              {method: http.MethodPut, body: hello, status: 404, code: "not_found", message: "PUT"},
		"engine":              {path: "/v1/responses", body: `{"model":"mock","input":"x"}`, status: 404, code: "invalid_request", message: "not served by the mock engine"},
	} {
		if c.method == "" {
			c.method = http.MethodPost
		}
		if c.path == "" {
			c.path = path
		}
		headers := []string{"X-Request-Id: my-" + strconv.Itoa(c.status)}
		if c.header != "" {
			headers = append(headers, strings.Split(c.header, "\n")...)
		}
		got := g.do(c.method, c.path, c.body, headers...)
		e := got.errorOf(t)
		if got.status != c.status || e.Code != c.code || !strings.Contains(e.Message, c.message) || e.Type == "" {
			t.Errorf("%s: %d %+v; want %d, %s, %q", name, got.status, e, c.status, c.code, c.message)
		}
		if id := got.header.Get("X-Request-Id"); id != "my-"+strconv.Itoa(c.status) {
			t.Errorf("%s: x-request-id %q; want the client's own", name, id)
		}
	}
	if got := g.do(http.MethodPost, path, hello, "X-Request-Id: "+strings.Repeat("x", 200)); got.status != 200 || !strings.HasPrefix(got.header.Get("X-Request-Id"), "req_") {
		t.Errorf("%d with x-request-id %q; want a new one", got.status, got.header.Get("X-Request-Id"))
	}
}

// endless sends a body without telling its length, and counts.
type endless struct{ sent atomic.Int64 }

func (e *endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	e.sent.Add(int64(len(p)))
	return len(p), nil
}

// A body of a gigabyte is refused before it is read, told or not.
func TestHugeBody(t *testing.T) {
	t.Parallel()
	r := newRig(t, twoClasses)
	g := r.gateway(gateway.Config{})
	told := &endless{}
	untold, err := http.NewRequestWithContext(r.ctx, http.MethodPost, g.url+"/v1/chat/completions", io.LimitReader(told, 1<<30))
	must(t, err)
	resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(untold)
	if err == nil { // else it was still sending when the gateway hung up
		_ = resp.Body.Close()
		if resp.StatusCode != http.StatusRequestEntityTooLarge {
			t.Errorf("a body without a length: status %d", resp.StatusCode)
		}
	}
	if told.sent.Load() > 100<<20 {
		t.Errorf("%d bytes were taken of it", told.sent.Load())
	}
	req, err := http.NewRequestWithContext(r.ctx, http.MethodPost, g.url+"/v1/chat/completions", io.LimitReader(&endless{}, 1<<30))
	must(t, err)
	req.ContentLength = 1 << 30
	req.Header.Set("Expect", "100-continue")
	resp, err = (&http.Transport{DisableKeepAlives: true, ExpectContinueTimeout: patience}).RoundTrip(req)
	must(t, err)
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("a body with its length: status %d", resp.StatusCode)
	}
}

// A class that is full says 429 and when to ask again; a deadline 504; an engine
// that fails 502. A stream that is open already tells it as an event.
func TestOutcomes(t *testing.T) {
	t.Parallel()
	r := newRig(t, twoClasses)
	cfg := quick()
	cfg.Slots, cfg.Failures = 1, []mock.Failure{{Kind: mock.Hang, Every: 1}}
	stop := r.agent("w1", cfg)
	g := r.gateway(gateway.Config{Class: "tiny", HeadersAfter: 10 * time.Millisecond, KeepAlive: 20 * time.Millisecond})
	const path = "/v1/chat/completions"

	running := g.send(http.MethodPost, path, strings.NewReader(streaming(hello)))
	waiting := g.send(http.MethodPost, path, strings.NewReader(streaming(hello)), "x-fairlead-queue: true")
	id, err := strconv.ParseUint(waiting.Header.Get("X-Fairlead-Id"), 10, 64)
	must(t, err)
	if waiting.Header.Get("X-Fairlead-Queue-Position") != "1" || waiting.StatusCode != http.StatusOK {
		t.Errorf("headers of a waiting stream: %d %v", waiting.StatusCode, waiting.Header)
	}
	full := g.do(http.MethodPost, path, hello)
	if e := full.errorOf(t); full.status != 429 || e.Code != "queue_full" || e.Type != "rate_limit_error" || full.header.Get("Retry-After") == "" || full.header.Get("X-Fairlead-Reason") != "queue_full" {
		t.Errorf("a full class: %d %+v %v", full.status, e, full.header)
	}
	late := g.do(http.MethodPost, path, hello, "x-fairlead-class: regular", "x-fairlead-ttl: 1s")
	if e := late.errorOf(t); late.status != 504 || e.Code != "deadline_exceeded" {
		t.Errorf("a deadline: %d %+v", late.status, e)
	}
	_, err = r.ask.Cancel(r.ctx, id)
	must(t, err)
	body, err := io.ReadAll(waiting.Body)
	must(t, err)
	if !strings.HasPrefix(string(body), ": queued position=1 ahead_tokens=0") || !strings.Contains(lastData(string(body)), `"code":"cancelled"`) {
		t.Errorf("a stream that is cancelled while it waits: %q", body)
	}
	_ = waiting.Body.Close()

	stop() // the worker leaves: its request goes back and waits
	_ = running.Body.Close()
	cfg.Failures = []mock.Failure{{Kind: mock.Die, Every: 1}}
	r.agent("w2", cfg)
	died := g.do(http.MethodPost, path, hello, "x-fairlead-class: regular")
	if e := died.errorOf(t); died.status != 502 || e.Code != "engine_error" || e.Type != "server_error" {
		t.Errorf("an engine that dies: %d %+v", died.status, e)
	}
	cut := g.do(http.MethodPost, path, streaming(hello), "x-fairlead-class: regular")
	if cut.status != 200 || strings.Contains(cut.body, "[DONE]") || !strings.Contains(lastData(cut.body), `"code":"engine_error"`) {
		t.Errorf("a stream of an engine that dies: %d %q", cut.status, cut.body)
	}
}

// A key has limits of its own.
func TestKeyLimits(t *testing.T) {
	t.Parallel()
	r := newRig(t, twoClasses)
	cfg := quick()
	cfg.Failures = []mock.Failure{{Kind: mock.Hang, Every: 1}}
	r.agent("w1", cfg)
	g := r.gateway(gateway.Config{HeadersAfter: 10 * time.Millisecond, Keys: parseKeys(t, `
keys:
  - {name: one, key: sk-one-secret, max_concurrent: 1}
  - {name: slow, key: sk-slow-secret, requests_per_second: 0.001}`)})
	const path = "/v1/chat/completions"
	for _, key := range []string{"one", "slow"} {
		auth := fmt.Sprintf("Authorization: Bearer sk-%s-secret", key)
		first := g.send(http.MethodPost, path, strings.NewReader(streaming(hello)), auth)
		second := g.do(http.MethodPost, path, hello, auth)
		_ = first.Body.Close()
		if e := second.errorOf(t); second.status != 429 || e.Code != "key_limit" || second.header.Get("Retry-After") == "" {
			t.Errorf("%s: %d %+v; want its own limit", key, second.status, e)
		}
	}
	g.SetKeys(parseKeys(t, `keys: [{name: new, key: sk-new-secret}]`))
	if got := g.do(http.MethodPost, path, hello, "Authorization: Bearer sk-one-secret"); got.status != 401 {
		t.Errorf("a key that a new file does not have: %d", got.status)
	}
}
