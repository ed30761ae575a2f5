package gateway_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/responses"
	"github.com/rs/zerolog"

	"fairlead/agent/engine"
	"fairlead/broker/embedded"
	"fairlead/gateway"
	"fairlead/internal/store"
)

// responder is an engine that speaks the responses API, which the mock does not.
type responder struct{}

func (responder) Kind() string                             { return "responder" }
func (responder) Models(context.Context) ([]string, error) { return []string{"m"}, nil }
func (responder) Healthy(context.Context) error            { return nil }

const responded = `{"id":"resp_1","object":"response","status":"completed","model":"m","output":[{"type":"message","id":"msg_1","role":"assistant","status":"completed","content":[{"type":"output_text","text":"Hello","annotations":[]}]}]}`

func (responder) Run(_ context.Context, req engine.Request, emit engine.Emit) (engine.Result, error) {
	if !req.Stream {
		return engine.Result{Body: []byte(responded), ContentType: "application/json"}, nil
	}
	for _, chunk := range []string{
		`{"type":"response.created","sequence_number":0,"response":{"id":"resp_1","object":"response","status":"in_progress","model":"m","output":[]}}`,
		`{"type":"response.output_text.delta","sequence_number":1,"item_id":"msg_1","output_index":0,"content_index":0,"delta":"Hello"}`,
		`{"type":"response.completed","sequence_number":2,"response":` + responded + `}`,
	} {
		if err := emit([]byte(chunk)); err != nil {
			return engine.Result{}, err
		}
	}
	return engine.Result{}, nil
}

// The responses API passes through, and its events carry their names.
func TestResponses(t *testing.T) {
	t.Parallel()
	r := newRig(t, twoClasses)
	r.agentWith("w1", responder{}, 2)
	g := r.gateway(gateway.Config{Class: "regular"})
	c := g.sdk()
	params := responses.ResponseNewParams{Model: "m", Input: responses.ResponseNewParamsInputUnion{OfString: openai.String("Hi")}}
	whole, err := c.Responses.New(r.ctx, params)
	must(t, err)
	if whole.OutputText() != "Hello" {
		t.Errorf("whole: %s", whole.RawJSON())
	}
	stream, text, last := c.Responses.NewStreaming(r.ctx, params), "", ""
	for stream.Next() {
		text += stream.Current().Delta
		last = stream.Current().Type
	}
	must(t, stream.Err())
	if text != "Hello" || last != "response.completed" {
		t.Errorf("streamed %q, ended by %q", text, last)
	}
	got := g.do(http.MethodPost, "/v1/responses", `{"model":"m","input":"Hi","stream":true}`)
	if !strings.HasPrefix(got.body, "event: response.created\ndata: {") || strings.Contains(got.body, "[DONE]") {
		t.Errorf("%q", got.body)
	}
}

const impatient = `
default_policy_family: regular
uncached_isl_buckets: [{min_tokens: 0, bucket: all}]
policy_classes:
  - {name: regular, policy_family: regular, cache_bucket: all, quantum: 128, no_worker_grace: 1s}
`

// Without a worker for too long, and without a store, the answer is 503, and says
// which.
func TestUnavailable(t *testing.T) {
	t.Parallel()
	r := newRig(t, impatient)
	g := r.gateway(gateway.Config{Class: "regular", HeadersAfter: time.Millisecond})
	body := strings.Replace(hello, `"model":"mock",`, "", 1)
	if got := g.do(http.MethodPost, "/v1/chat/completions", body); got.status != 503 || got.errorOf(t).Code != "no_worker" {
		t.Errorf("without a worker: %d %s", got.status, got.body)
	}
	streamed := g.do(http.MethodPost, "/v1/chat/completions", streaming(body))
	if streamed.status != 200 || !strings.Contains(lastData(streamed.body), `"code":"no_worker"`) {
		t.Errorf("without a worker, streamed: %d %q", streamed.status, streamed.body)
	}

	empty, err := embedded.Start(embedded.Options{StoreDir: t.TempDir(), Log: zerolog.Nop()})
	must(t, err)
	t.Cleanup(func() { must(t, empty.Stop()) })
	nc, err := nats.Connect(empty.URL(), store.Reconnect("test")...)
	must(t, err)
	t.Cleanup(nc.Close)
	none := r.serve(gateway.Config{Conn: nc, Class: "regular"})
	got := none.do(http.MethodPost, "/v1/chat/completions", body)
	if e := got.errorOf(t); got.status != 503 || e.Code != "store_unavailable" || got.header.Get("Retry-After") == "" || strings.Contains(e.Message, "req.") {
		t.Errorf("without a store: %d %+v", got.status, e)
	}
	if got := none.do(http.MethodGet, "/v1/models", ""); got.status != 503 {
		t.Errorf("models without a broker: %d %s", got.status, got.body)
	}
}
