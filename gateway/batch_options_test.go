package gateway_test

import (
	"net/http"
	"reflect"
	"testing"

	"github.com/openai/openai-go/v3/option"

	"fairlead/gateway"
	"fairlead/wire"
)

// What the headers of a batch say is asked of each of its lines.
func TestBatchOptions(t *testing.T) {
	t.Parallel()
	r := newRig(t, twoClasses)
	g := r.gateway(gateway.Config{Class: "regular"})
	c := g.sdk()
	asked, err := r.connect().SubscribeSync("req.>")
	must(t, err)
	headers := map[string]string{
		"tenant": "acme", "ttl": "1h", "retry": "always", "priority": "2.5", "strict-priority": "3", "input-tokens": "40", "cached-tokens": "4",
		"worker": "w1", "dp-rank": "2", "pin": "prefer", "allow-workers": "w1,w2", "require-taints": "a", "prefer-taints": "b,c",
	}
	opts := []option.RequestOption{option.WithHeader("traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")}
	for name, value := range headers {
		opts = append(opts, option.WithHeader("x-fairlead-"+name, value))
	}
	b := createBatch(t, r, c, upload(t, r, c, input(1)).ID, opts...)
	m, err := asked.NextMsg(patience)
	must(t, err)
	q, refusal := wire.Rules{Names: wire.Names{}}.ParseRequest(wire.Message{Subject: m.Subject, Header: wire.Header(m.Header), Size: len(m.Data)})
	if refusal != nil {
		t.Fatal(refusal)
	}
	for name, f := range map[string]struct{ got, want any }{
		"worker": {q.Worker, "w1"}, "rank": {int(q.Rank), 2}, "pin": {q.Pin, wire.PinPrefer}, "retry": {q.Retry, wire.RetryAlways},
		"allow": {q.Allow, []string{"w1", "w2"}}, "require": {q.Require, []string{"a"}}, "prefer": {q.Prefer, []string{"b", "c"}},
		"input": {int(q.Input), 40}, "cached": {int(q.Cached), 4}, "tenant": {q.Tenant, "acme"}, "ttl": {q.TTL.String(), "1h0m0s"},
		"priority": {q.Priority, 2.5}, "strict": {int(q.Strict), 3}, "traceparent": {q.Traceparent[:5], "00-0a"},
	} {
		if !reflect.DeepEqual(f.got, f.want) {
			t.Errorf("%s: %v; want %v", name, f.got, f.want)
		}
	}
	_, err = c.Batches.Cancel(r.ctx, b.ID)
	must(t, err)
	ends(t, r, c, b.ID)
	body := `{"input_file_id":"` + b.InputFileID + `","endpoint":"/v1/chat/completions","completion_window":"24h"}`
	for _, name := range []string{"no-queue", "async", "queue", "priorty"} {
		got := g.do(http.MethodPost, "/v1/batches", body, "x-fairlead-"+name+": true")
		if got.status != http.StatusBadRequest || got.errorOf(t).Param != "x-fairlead-"+name {
			t.Errorf("%s: %d %s", name, got.status, got.body)
		}
	}
}
