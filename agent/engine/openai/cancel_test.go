package openai

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// hang answers with a first chunk, if any, and then says nothing until the
// client has gone, which it reports on the channel.
func hang(first string, left chan<- struct{}) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body) // else the server does not notice that the client left
		if first != "" {
			sseBody(first)(w, r)
			w.(http.Flusher).Flush()
		}
		<-r.Context().Done()
		close(left)
	}
}

func TestCancelClosesTheConnection(t *testing.T) {
	reason := errors.New("nobody listens")
	for name, tc := range map[string]struct{ first, body string }{
		"before the answer":    {"", `{"stream":true}`},
		"within a stream":      {"data: " + hello + "\n\n", `{"stream":true}`},
		"of a whole answer":    {"", `{}`},
		"within a comment":     {": ping\n\n", `{"stream":true}`},
		"within a chunk's row": {"data: " + hello + "\n\ndata: {", `{"stream":true}`},
	} {
		t.Run(name, func(t *testing.T) {
			left := make(chan struct{})
			arrived := make(chan struct{})
			h := hang(tc.first, left)
			e := serve(t, func(w http.ResponseWriter, r *http.Request) { close(arrived); h(w, r) })
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			go func() { <-arrived; cancel(reason) }()
			if _, err := e.Run(ctx, request(tc.body), func([]byte) error { return nil }); !errors.Is(err, reason) {
				t.Fatalf("got %v, want the cause of the cancel", err)
			}
			await(t, left)
		})
	}
}

func await(t *testing.T, c <-chan struct{}) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(30 * time.Second):
		t.Fatal("the engine never saw its client leave")
	}
}

func TestEmitErrorClosesTheConnection(t *testing.T) {
	left := make(chan struct{})
	e := serve(t, hang("data: "+hello+"\n\n", left))
	broken := errors.New("no way to the client")
	if _, err := e.Run(t.Context(), request(`{"stream":true}`), func([]byte) error { return broken }); !errors.Is(err, broken) {
		t.Fatalf("got %v", err)
	}
	await(t, left)
}

func TestStall(t *testing.T) {
	left := make(chan struct{})
	e := serveWith(t, Config{Stall: 20 * time.Millisecond}, hang("data: "+hello+"\n\n", left))
	_, _, err := stream(t, e, `{"stream":true}`)
	if err == nil || !strings.Contains(err.Error(), "sent nothing for 20ms") || typed(err) {
		t.Fatalf("got %v", err)
	}
	await(t, left)
}
