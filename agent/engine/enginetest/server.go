package enginetest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
)

// Server is an engine of some kind. Its fields may be changed with Set while it
// serves.
type Server struct {
	URL  string
	http *httptest.Server

	mu   sync.Mutex // guards the rest
	spec spec
	sick int // status of health, metrics and facts; 0 is well
}

// New serves an engine of a kind (or a variant of one, such as "vllm-old") until
// the test ends.
func New(t testing.TB, kind string) *Server {
	t.Helper()
	s := &Server{}
	s.Become(t, kind)
	s.http = httptest.NewServer(http.HandlerFunc(s.serve))
	s.URL = s.http.URL
	t.Cleanup(s.http.Close)
	return s
}

// Become replaces the engine by one of another kind, on the same port.
func (s *Server) Become(t testing.TB, kind string) {
	t.Helper()
	sp, ok := specs()[kind]
	if !ok {
		t.Fatalf("there is no engine %q", kind)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.spec = sp
}

// Fail makes everything but requests answer with a status; 0 ends that.
func (s *Server) Fail(status int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sick = status
}

// Text is what a fixture holds.
func Text(t testing.TB, name string) []byte {
	t.Helper()
	text, err := fixtures.ReadFile("fixtures/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	sp, sick := s.spec, s.sick
	s.mu.Unlock()
	switch {
	case r.Method == http.MethodPost:
		sp.complete(w, r)
	case sick != 0:
		http.Error(w, `{"error":"fixture"}`, sick)
	case r.URL.Path == "/v1/models":
		answer(w, "application/json", sp.models)
	case r.URL.Path == "/health" && sp.health:
		w.WriteHeader(http.StatusOK)
	case sp.metrics != "" && r.URL.Path == sp.metrics:
		text, err := fixtures.ReadFile("fixtures/" + sp.exposition)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		answer(w, "text/plain; version=0.0.4; charset=utf-8", string(text))
	case sp.json[r.URL.Path] != "":
		answer(w, "application/json", sp.json[r.URL.Path])
	default:
		http.NotFound(w, r)
	}
}

// complete answers a request. Usage streams only to those who ask for it, as
// engines do.
func (sp spec) complete(w http.ResponseWriter, r *http.Request) {
	var body struct {
		Stream        bool `json:"stream"`
		StreamOptions struct {
			IncludeUsage bool `json:"include_usage"`
		} `json:"stream_options"`
	}
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if !body.Stream {
		answer(w, "application/json", sp.whole)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	for _, data := range sp.stream {
		if !body.StreamOptions.IncludeUsage && (data == counted || data == cached || data == unknown) {
			continue
		}
		fmt.Fprintf(w, "data: %s\n\n", data)
	}
	fmt.Fprint(w, "data: [DONE]\n\n")
}

func answer(w http.ResponseWriter, kind, body string) {
	w.Header().Set("Content-Type", kind)
	fmt.Fprint(w, body)
}
