package openai

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead/agent/engine"
)

func TestRefusals(t *testing.T) {
	for status, want := range map[int]string{
		429: "busy", 503: "busy", 529: "busy",
		400: "request", 404: "request", 405: "request", 413: "request", 415: "request", 422: "request",
		401: "engine", 403: "engine", 500: "engine", 502: "engine", 307: "engine", 418: "engine",
	} {
		e := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/x")
			w.Header().Set("Location", "http://127.0.0.1:1/")
			w.WriteHeader(status)
			fmt.Fprintf(w, "because of %d", status)
		})
		_, err := e.Run(t.Context(), request(`{}`), nil)
		var busy *engine.BusyError
		var req *engine.RequestError
		got := "engine"
		switch {
		case errors.As(err, &busy) && busy.RetryAfter == defaultRetryAfter:
			got = "busy"
		case errors.As(err, &req) && req.Status == status && string(req.Body) == fmt.Sprint("because of ", status) && req.ContentType == "text/x":
			got = "request"
		case typed(err) || err == nil || !strings.Contains(err.Error(), fmt.Sprint(status)):
			got = fmt.Sprint("nonsense: ", err)
		}
		if got != want {
			t.Errorf("%d: got %s, want %s", status, got, want)
		}
	}
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for value, want := range map[string]time.Duration{
		"": time.Second, "7": 7 * time.Second, "0.5": 500 * time.Millisecond, "0": minRetryAfter, "-5": minRetryAfter,
		"1e309": time.Second, "NaN": time.Second, "soon": time.Second, "99999999999999999999": maxRetryAfter,
		"Fri, 02 Jan 2026 03:04:25 GMT": 20 * time.Second,
		"Fri, 02 Jan 2026 03:04:00 GMT": minRetryAfter,
		"Sat, 03 Jan 2026 03:04:00 GMT": maxRetryAfter,
	} {
		if got := retryAfter(value, now); got != want {
			t.Errorf("%q: got %s, want %s", value, got, want)
		}
	}
}

func TestRefusedConnection(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	e, err := New(Config{URL: "http://" + l.Addr().String()})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	var gone *engine.UnavailableError
	if _, err := e.Run(t.Context(), request(`{}`), nil); !errors.As(err, &gone) {
		t.Errorf("run: got %v, want unavailable", err)
	}
	if err := e.Healthy(t.Context()); !errors.As(err, &gone) {
		t.Errorf("health: got %v, want unavailable", err)
	}
	if _, err := e.Models(t.Context()); !errors.As(err, &gone) {
		t.Errorf("models: got %v, want unavailable", err)
	}
}

func TestConfigErrors(t *testing.T) {
	for want, cfg := range map[string]Config{
		"url: is empty":         {},
		`url: "host:80", want`:  {URL: "host:80"},
		`url: "http://", want`:  {URL: "http://"},
		"url: parse":            {URL: "http://[::1"},
		"max event: -1 bytes":   {URL: "http://x", MaxEvent: -1},
		"max body: -1 bytes":    {URL: "http://x", MaxBody: -1},
		"stall: -1ns, want":     {URL: "http://x", Stall: -1},
		"connect: -1ns, want a": {URL: "http://x", Connect: -1},
	} {
		if _, err := New(cfg); err == nil || !strings.HasPrefix(err.Error(), "openai engine: "+want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

func TestModelsAndHealth(t *testing.T) {
	health := http.StatusOK
	e := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/health" {
			w.WriteHeader(health)
			return
		}
		io.WriteString(w, `{"data":[{"id":"a"},{"id":"b"}]}`)
	})
	names, err := e.Models(t.Context())
	if diff := cmp.Diff([]string{"a", "b"}, names); err != nil || diff != "" {
		t.Error(err, diff)
	}
	for status, ok := range map[int]bool{200: true, 404: true, 503: false, 500: false} {
		health = status
		if err := e.Healthy(t.Context()); (err == nil) != ok {
			t.Errorf("status %d: healthy says %v", status, err)
		}
	}
	fixed, err := New(Config{URL: "http://127.0.0.1:1", Models: []string{"x"}})
	if err != nil {
		t.Fatal(err)
	}
	if names, err := fixed.Models(t.Context()); err != nil || len(names) != 1 || names[0] != "x" {
		t.Errorf("got %v, %v", names, err)
	}
}
