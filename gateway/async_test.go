package gateway_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"fairlead/gateway"
)

const asyncPath = "/v1/fairlead/requests/"

// asyncReply is what polling says.
type asyncReply struct {
	ID, Status string
	Response   struct {
		StatusCode int `json:"status_code"`
		Body       json.RawMessage
		Chunks     []json.RawMessage
	}
	Error struct{ Code string }
}

func (r reply) async(t *testing.T) (a asyncReply) {
	t.Helper()
	if err := json.Unmarshal([]byte(r.body), &a); err != nil || r.status/100 != 2 {
		t.Fatalf("%d %s: %v", r.status, r.body, err)
	}
	return a
}

// A request that is asked to be picked up later survives its client and its
// gateway, and can be polled, waited for, streamed and cancelled.
func TestAsync(t *testing.T) {
	t.Parallel()
	r := newRig(t, twoClasses)
	stop := r.agent("w1", hanging())
	one, two := r.gateway(gateway.Config{Class: "regular"}), r.gateway(gateway.Config{Class: "regular", HeadersAfter: time.Millisecond})
	ask := func(body string) string {
		t.Helper()
		got := one.do(http.MethodPost, "/v1/chat/completions", body, "x-fairlead-async: true")
		a := got.async(t)
		if got.status != http.StatusAccepted || a.Status != "queued" || got.header.Get("Location") != asyncPath+a.ID {
			t.Fatalf("%d %v %s", got.status, got.header, got.body)
		}
		return a.ID
	}
	whole := ask(hello)
	r.until("it runs", func() bool { return two.do(http.MethodGet, asyncPath+whole, "").async(t).Status == "running" })
	streamed, gone := ask(streaming(hello)), ask(hello)
	if a := two.do(http.MethodGet, asyncPath+streamed+"?wait=10ms", "").async(t); a.Status != "queued" {
		t.Errorf("a request that waits: %+v", a)
	}
	if a := two.do(http.MethodDelete, asyncPath+gone, "").async(t); a.Status != "cancelled" {
		t.Errorf("a cancel: %+v", a)
	}
	if a := two.do(http.MethodGet, asyncPath+gone+"?wait=1m", "").async(t); a.Status != "cancelled" || a.Error.Code != "cancelled" || a.Response.StatusCode != 499 {
		t.Errorf("a cancelled request: %+v", a)
	}
	one.abort()
	<-one.ended
	stop()
	r.agent("w2", quick())
	if a := two.do(http.MethodGet, asyncPath+whole+"?wait=60", "").async(t); a.Status != "completed" || a.Response.StatusCode != http.StatusOK || !strings.Contains(string(a.Response.Body), "the line ran out") {
		t.Errorf("a completed request: %+v", a)
	}
	got := two.do(http.MethodGet, asyncPath+streamed, "", "Accept: text/event-stream")
	if got.status != 200 || lastData(got.body) != "[DONE]" || strings.Count(got.body, "data: {") != 5 {
		t.Errorf("a streamed result: %d %q", got.status, got.body)
	}
	if a := two.do(http.MethodGet, asyncPath+streamed, "").async(t); a.Status != "completed" || len(a.Response.Chunks) != 5 {
		t.Errorf("a streamed result, polled: %+v", a)
	}
	for _, id := range []string{"7", "0", "x", whole + "-00"} {
		if got := two.do(http.MethodGet, asyncPath+id, ""); got.status != 404 || got.errorOf(t).Code != "not_found" {
			t.Errorf("%s: %d %s", id, got.status, got.body)
		}
	}
	if got := two.do(http.MethodGet, asyncPath+whole+"?wait=long", ""); got.status != 400 {
		t.Errorf("a wait that is none: %d %s", got.status, got.body)
	}
}

// forged is the id of a request signed with what a client knows of its own key.
func forged(key, number string) string {
	hash := sha256.Sum256([]byte(key))
	mac := hmac.New(sha256.New, hash[:])
	mac.Write([]byte("request " + number))
	return number + "-" + hex.EncodeToString(mac.Sum(nil)[:16])
}

// Only the key that asked can see or cancel a request.
func TestAsyncKeys(t *testing.T) {
	t.Parallel()
	r := newRig(t, twoClasses)
	r.agent("w1", quick())
	g := r.gateway(gateway.Config{Class: "regular", Keys: parseKeys(t, `keys: [{name: a, key: sk-a-secret}, {name: b, key: sk-b-secret}]`)})
	const a, b = "Authorization: Bearer sk-a-secret", "Authorization: Bearer sk-b-secret"
	once := func(key string) string {
		return g.do(http.MethodPost, "/v1/chat/completions", hello, key, "x-fairlead-async: true", "Idempotency-Key: order-17").async(t).ID
	}
	id := once(a)
	if again := once(a); again != id {
		t.Errorf("asked again with the same key: %s and %s", id, again)
	}
	first, _, _ := strings.Cut(id, "-")
	if other, _, _ := strings.Cut(once(b), "-"); other == first {
		t.Error("another client with the same idempotency key got the first one's request")
	}
	if got := g.do(http.MethodGet, asyncPath+id+"?wait=1m", "", a); got.async(t).Status != "completed" {
		t.Errorf("its own: %d %s", got.status, got.body)
	}
	number, _, _ := strings.Cut(id, "-")
	for _, path := range []string{asyncPath + id, asyncPath + number, asyncPath + forged("sk-b-secret", number)} {
		for _, method := range []string{http.MethodGet, http.MethodDelete} {
			if got := g.do(method, path, "", b); got.status != 404 {
				t.Errorf("%s %s of another key: %d %s", method, path, got.status, got.body)
			}
		}
	}
}

// Whoever waits for a result counts as a request of his key; asking how it is does not.
func TestAsyncWaitsCount(t *testing.T) {
	t.Parallel()
	r := newRig(t, twoClasses)
	r.agent("w1", hanging())
	g := r.gateway(gateway.Config{Class: "regular", HeadersAfter: time.Millisecond, Keys: parseKeys(t, `keys: [{name: a, key: sk-a-secret, max_concurrent: 1}]`)})
	const key = "Authorization: Bearer sk-a-secret"
	path := asyncPath + g.do(http.MethodPost, "/v1/chat/completions", hello, key, "x-fairlead-async: true").async(t).ID
	waits := g.send(http.MethodGet, path+"?stream=true", http.NoBody, key)
	for _, query := range []string{"?wait=10m", "?stream=true"} {
		if got := g.do(http.MethodGet, path+query, "", key); got.status != 429 || got.errorOf(t).Code != "key_limit" {
			t.Errorf("a second one with %s: %d %s", query, got.status, got.body)
		}
	}
	if a := g.do(http.MethodGet, path, "", key).async(t); a.Status == "" {
		t.Errorf("a poll that does not wait: %+v", a)
	}
	g.do(http.MethodDelete, path, "", key)
	body, err := io.ReadAll(waits.Body)
	must(t, err)
	if !strings.Contains(lastData(string(body)), "cancelled") {
		t.Errorf("the one that waits: %q", body)
	}
}
