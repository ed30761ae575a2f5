package mock

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"fairlead/agent/engine"
)

// words make up every answer.
const words = "the line ran out over the bow and the pilot took the slack until it lay fair between the chocks"

// maxOutput bounds what a request may ask for, as a context window does.
const maxOutput = 1 << 20

// answer knows what to say to one request: the shapes of chat, completions and
// embeddings.
type answer struct {
	path, model, id string
	created         int64 // Unix seconds
	prompt, cached  int64
	output          int64 // tokens; 1 for an embedding, which has none
	stream          bool
	wantsUsage      bool
	limited         bool // ends because of a bound on its length
	vocabulary      []string
}

func (e *Engine) newAnswer(req engine.Request) (*answer, error) {
	opts, err := engine.ReadOptions(req.Body)
	if err != nil {
		return nil, refusal(http.StatusBadRequest, err.Error())
	}
	a := &answer{
		path:       req.Path,
		model:      firstOf(req.Model, opts.Model, e.cfg.Models[0]),
		id:         fmt.Sprintf("mock-%d-%d", req.ID, req.Attempt),
		created:    time.Now().Unix(),
		prompt:     req.InputTokens,
		stream:     req.Stream,
		wantsUsage: opts.WantsUsage(),
		vocabulary: e.words,
	}
	if !slices.Contains(e.cfg.Models, a.model) {
		return nil, refusal(http.StatusNotFound, fmt.Sprintf("model %q is not served, want one of %v", a.model, e.cfg.Models))
	}
	if a.prompt <= 0 {
		a.prompt = int64(len(req.Body)+3) / 4
	}
	a.cached = min(max(req.CachedTokens, 0), a.prompt)
	return a, a.bound(opts.OutputLimit(), req.MaxOutputTokens, e.cfg.OutputTokens)
}

// bound sets the length of the answer: the smallest limit given, else the default.
func (a *answer) bound(body, declared, fallback int64) error {
	switch a.path {
	case engine.PathChat, engine.PathCompletions:
	case engine.PathEmbeddings:
		a.output, a.stream = 1, false
		return nil
	default:
		return refusal(http.StatusNotFound, fmt.Sprintf("path %q is not served by the mock engine, want %s, %s or %s",
			a.path, engine.PathChat, engine.PathCompletions, engine.PathEmbeddings))
	}
	a.output = fallback
	for _, limit := range []int64{body, declared} {
		if limit > 0 && (!a.limited || limit < a.output) {
			a.output, a.limited = limit, true
		}
	}
	if a.output > maxOutput {
		return refusal(http.StatusBadRequest, fmt.Sprintf("output tokens: %d, want at most %d", a.output, maxOutput))
	}
	return nil
}

func firstOf(names ...string) string {
	i := slices.IndexFunc(names, func(s string) bool { return s != "" })
	return names[i]
}

func refusal(status int, message string) error {
	body := mustJSON(map[string]any{"error": map[string]any{"message": message, "type": "invalid_request_error", "code": status}})
	return &engine.RequestError{Status: status, ContentType: "application/json", Body: body}
}

func (a *answer) uncached() int64 { return a.prompt - a.cached }

func (a *answer) usage(emitted int64) engine.Usage {
	u := engine.Usage{PromptTokens: a.prompt, CachedTokens: a.cached, OutputTokens: emitted, Known: true, CachedKnown: true}
	if a.path == engine.PathEmbeddings {
		u.OutputTokens = 0
	}
	return u
}

// text is the answer's words from one token to another.
func (a *answer) text(from, to int64) string {
	var b strings.Builder
	for i := from; i < to; i++ {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(a.vocabulary[i%int64(len(a.vocabulary))])
	}
	return b.String()
}

func (a *answer) finishReason() string {
	if a.limited {
		return "length"
	}
	return "stop"
}

func mustJSON(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		panic("mock engine: encode answer: " + err.Error()) // only strings, numbers and structs of ours
	}
	return data
}
