package gateway_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"fairlead/gateway"
	"fairlead/gateway/batch"
)

// input is a file of so many chats, named c1, c2, …; each third one is for a model
// that nobody serves.
func input(lines int) []byte {
	var b bytes.Buffer
	for n := 1; n <= lines; n++ {
		model := "mock"
		if n%3 == 0 {
			model = "nobody"
		}
		fmt.Fprintf(&b, `{"custom_id":"c%d","method":"POST","url":"/v1/chat/completions","body":{"model":%q,"max_tokens":3,"messages":[{"role":"user","content":"Hello %d"}]}}`+"\n", n, model, n)
	}
	return b.Bytes()
}

func upload(t *testing.T, r *rig, c *openai.Client, data []byte) *openai.FileObject {
	t.Helper()
	f, err := c.Files.New(r.ctx, openai.FileNewParams{File: openai.File(bytes.NewReader(data), "input.jsonl", "application/jsonl"), Purpose: openai.FilePurposeBatch})
	must(t, err)
	return f
}

func createBatch(t *testing.T, r *rig, c *openai.Client, file string, opts ...option.RequestOption) *openai.Batch {
	t.Helper()
	b, err := c.Batches.New(r.ctx, openai.BatchNewParams{
		InputFileID: file, Endpoint: openai.BatchNewParamsEndpointV1ChatCompletions, CompletionWindow: openai.BatchNewParamsCompletionWindow24h,
		Metadata: map[string]string{"job": "nightly"},
	}, opts...)
	must(t, err)
	return b
}

// ends waits for a batch to end.
func ends(t *testing.T, r *rig, c *openai.Client, id string) (b *openai.Batch) {
	t.Helper()
	r.until(id+" has ended", func() bool {
		var err error
		b, err = c.Batches.Get(r.ctx, id)
		must(t, err)
		switch b.Status {
		case openai.BatchStatusCompleted, openai.BatchStatusFailed, openai.BatchStatusExpired, openai.BatchStatusCancelled:
			return true
		}
		return false
	})
	return b
}

// resultLine is a line of a file of results.
type resultLine struct {
	ID       string
	CustomID string `json:"custom_id"`
	Response *struct {
		StatusCode int    `json:"status_code"`
		RequestID  string `json:"request_id"`
		Body       openai.ChatCompletion
	}
	Error *struct{ Code, Message string }
}

// results reads a file by custom id; each may be there once.
func results(t *testing.T, r *rig, c *openai.Client, file string) map[string]resultLine {
	t.Helper()
	found := map[string]resultLine{}
	if file == "" {
		return found
	}
	resp, err := c.Files.Content(r.ctx, file)
	must(t, err)
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	must(t, err)
	for line := range strings.Lines(string(data)) {
		var l resultLine
		must(t, json.Unmarshal([]byte(line), &l))
		if _, twice := found[l.CustomID]; twice || l.ID == "" {
			t.Errorf("%s: %q is there twice, or has no id", file, l.CustomID)
		}
		found[l.CustomID] = l
	}
	return found
}

// A batch runs through the official client: file, batch, results, errors, lists.
func TestBatch(t *testing.T) {
	t.Parallel()
	r := newRig(t, twoClasses)
	r.agent("w1", quick())
	g := r.gateway(gateway.Config{Class: "regular"})
	c := g.sdk()
	f := upload(t, r, c, input(90))
	if f.Bytes != int64(len(input(90))) || f.Filename != "input.jsonl" || f.Purpose != "batch" {
		t.Errorf("file: %+v", f)
	}
	b := createBatch(t, r, c, f.ID)
	b = ends(t, r, c, b.ID)
	if b.Status != openai.BatchStatusCompleted || b.RequestCounts.Total != 90 || b.RequestCounts.Completed != 60 || b.RequestCounts.Failed != 30 || b.Metadata["job"] != "nightly" || b.CompletedAt == 0 {
		t.Errorf("batch: %s", b.RawJSON())
	}
	good, bad := results(t, r, c, b.OutputFileID), results(t, r, c, b.ErrorFileID)
	for n := 1; n <= 90; n++ {
		id := fmt.Sprintf("c%d", n)
		if l, ok := bad[id]; n%3 == 0 && (!ok || l.Error == nil || l.Error.Code != "model_not_found" || l.Response.StatusCode != http.StatusNotFound) {
			t.Errorf("%s: %+v; want an error", id, l)
		}
		if l, ok := good[id]; n%3 != 0 && (!ok || l.Response.StatusCode != http.StatusOK || l.Response.RequestID == "" || l.Response.Body.Choices[0].Message.Content != "the line ran") {
			t.Errorf("%s: %+v; want a result", id, l)
		}
	}
	if len(good) != 60 || len(bad) != 30 {
		t.Errorf("%d results and %d errors", len(good), len(bad))
	}
	second := createBatch(t, r, c, f.ID)
	page, err := c.Batches.List(r.ctx, openai.BatchListParams{Limit: openai.Int(1)})
	must(t, err)
	if len(page.Data) != 1 || page.Data[0].ID != second.ID || !page.HasMore {
		t.Errorf("the first page: %s", page.RawJSON())
	}
	page, err = page.GetNextPage()
	must(t, err)
	if page == nil || len(page.Data) != 1 || page.Data[0].ID != b.ID {
		t.Errorf("the second page: %v", page)
	}
	ends(t, r, c, second.ID)
	files, err := c.Files.List(r.ctx, openai.FileListParams{})
	must(t, err)
	if len(files.Data) != 5 { // the input, and two of each batch
		t.Errorf("%d files: %s", len(files.Data), files.RawJSON())
	}
	_, err = c.Files.Delete(r.ctx, f.ID)
	must(t, err)
	_, err = c.Files.Get(r.ctx, f.ID)
	wantError(t, err, http.StatusNotFound, "not_found")
}

// A batch goes on in another gateway when its own leaves, with no line lost or
// answered twice.
func TestBatchMoves(t *testing.T) {
	t.Parallel()
	r := newRig(t, twoClasses)
	cfg := quick()
	cfg.TokenTime = 5 * time.Millisecond
	r.agent("w1", cfg)
	limits := batch.Limits{Window: 8}
	one := r.gateway(gateway.Config{Class: "regular", Batches: limits})
	c := one.sdk()
	b := createBatch(t, r, c, upload(t, r, c, input(150)).ID)
	r.until("some lines are done", func() bool {
		b, err := c.Batches.Get(r.ctx, b.ID)
		must(t, err)
		return b.RequestCounts.Completed > 5
	})
	one.abort()
	<-one.ended
	two := r.gateway(gateway.Config{Class: "regular", Batches: limits})
	c = two.sdk()
	b = ends(t, r, c, b.ID)
	if b.Status != openai.BatchStatusCompleted || b.RequestCounts.Completed != 100 || b.RequestCounts.Failed != 50 {
		t.Errorf("batch: %s", b.RawJSON())
	}
	if good, bad := results(t, r, c, b.OutputFileID), results(t, r, c, b.ErrorFileID); len(good) != 100 || len(bad) != 50 {
		t.Errorf("%d results and %d errors", len(good), len(bad))
	}
}

// A cancelled batch keeps what was done, and frees the engine. One that expires
// says so for every line that it did not come to.
func TestBatchEnds(t *testing.T) {
	t.Parallel()
	r := newRig(t, twoClasses)
	r.agent("w1", hanging())
	limits := batch.Limits{Window: 4}
	g := r.gateway(gateway.Config{Class: "regular", Batches: limits})
	c := g.sdk()
	file := upload(t, r, c, input(20))
	b := createBatch(t, r, c, file.ID)
	r.until("lines run and wait", func() bool {
		running, queued := r.load()
		return running == 1 && queued >= 2
	})
	b, err := c.Batches.Cancel(r.ctx, b.ID)
	must(t, err)
	if b.Status != openai.BatchStatusCancelling {
		t.Errorf("cancelled: %s", b.RawJSON())
	}
	b = ends(t, r, c, b.ID)
	if b.Status != openai.BatchStatusCancelled || b.RequestCounts.Completed != 0 || b.OutputFileID != "" {
		t.Errorf("cancelled: %s", b.RawJSON())
	}
	r.until("nothing is left", func() bool {
		running, queued := r.load()
		return running == 0 && queued == 0
	})
	_, err = c.Batches.Cancel(r.ctx, b.ID)
	wantError(t, err, http.StatusConflict, "conflict")

	limits.Completion = 2 * time.Second
	short := r.gateway(gateway.Config{Class: "regular", Batches: limits}).sdk()
	b = ends(t, r, short, createBatch(t, r, short, file.ID).ID)
	bad := results(t, r, short, b.ErrorFileID)
	if b.Status != openai.BatchStatusExpired || len(bad) != 20 || bad["c1"].Error.Code != "batch_expired" {
		t.Errorf("expired: %s with %d errors", b.RawJSON(), len(bad))
	}
}

// What is wrong with files and batches is told; others' are not seen.
func TestBatchRefused(t *testing.T) {
	t.Parallel()
	r := newRig(t, twoClasses)
	r.agent("w1", quick())
	g := r.gateway(gateway.Config{Class: "regular", Batches: batch.Limits{FileBytes: 4096, Lines: 3},
		Keys: parseKeys(t, `keys: [{name: a, key: sk-a-secret}, {name: b, key: sk-b-secret}]`)})
	a, other := g.sdk(option.WithAPIKey("sk-a-secret")), g.sdk(option.WithAPIKey("sk-b-secret"))
	for text, code := range map[string]string{
		"not JSON": "invalid_json_line",
		"\n\n":     "empty_file",
		`{"method":"POST","url":"/v1/chat/completions","body":{}}`:                                                       "invalid_custom_id",
		`{"custom_id":"x","method":"GET","url":"/v1/chat/completions","body":{}}`:                                        "invalid_method",
		`{"custom_id":"x","method":"POST","url":"/v1/embeddings","body":{}}`:                                             "mismatched_url",
		`{"custom_id":"x","method":"POST","url":"/v1/chat/completions"}`:                                                 "invalid_body",
		`{"custom_id":"x","method":"POST","url":"/v1/chat/completions","body":{"stream":true}}`:                          "invalid_body",
		string(bytes.Repeat([]byte(`{"custom_id":"x","method":"POST","url":"/v1/chat/completions","body":{}}`+"\n"), 2)): "duplicate_custom_id",
		string(input(4)): "too_many_lines",
	} {
		b := createBatch(t, r, a, upload(t, r, a, []byte(text)).ID)
		b = ends(t, r, a, b.ID)
		if b.Status != openai.BatchStatusFailed || len(b.Errors.Data) == 0 || b.Errors.Data[0].Code != code {
			t.Errorf("%.60q: %s; want %s", text, b.RawJSON(), code)
		}
	}
	_, err := a.Files.New(r.ctx, openai.FileNewParams{File: bytes.NewReader(make([]byte, 4097)), Purpose: openai.FilePurposeBatch})
	wantError(t, err, http.StatusRequestEntityTooLarge, "too_large")
	_, err = a.Files.New(r.ctx, openai.FileNewParams{File: bytes.NewReader(input(1)), Purpose: openai.FilePurposeFineTune})
	wantError(t, err, http.StatusBadRequest, "invalid_request")
	f := upload(t, r, a, input(1))
	for name, params := range map[string]openai.BatchNewParams{
		"endpoint":          {InputFileID: f.ID, Endpoint: "/v1/images", CompletionWindow: "24h"},
		"completion_window": {InputFileID: f.ID, Endpoint: "/v1/chat/completions", CompletionWindow: "1h"},
	} {
		_, err := a.Batches.New(r.ctx, params)
		wantError(t, err, http.StatusBadRequest, "invalid_request")
		if e := (*openai.Error)(nil); errors.As(err, &e) && e.Param != name {
			t.Errorf("%s: %q is at fault", name, e.Param)
		}
	}
	b := createBatch(t, r, a, f.ID)
	_, err = other.Batches.Get(r.ctx, b.ID)
	wantError(t, err, http.StatusNotFound, "not_found")
	_, err = other.Batches.Cancel(r.ctx, b.ID)
	wantError(t, err, http.StatusNotFound, "not_found")
	_, err = other.Files.Content(r.ctx, f.ID)
	wantError(t, err, http.StatusNotFound, "not_found")
	_, err = other.Batches.New(r.ctx, openai.BatchNewParams{InputFileID: f.ID, Endpoint: "/v1/chat/completions", CompletionWindow: "24h"})
	wantError(t, err, http.StatusNotFound, "not_found")
	page, err := other.Batches.List(r.ctx, openai.BatchListParams{})
	must(t, err)
	if len(page.Data) != 0 {
		t.Errorf("another key sees %d batches", len(page.Data))
	}
	for _, path := range []string{"/v1/batches/a.b", "/v1/batches/*", "/v1/files/%3E", "/v1/files/a%20b", "/v1/files/a%2Bb", "/v1/batches/a%2Bb", "/v1/files/%C3%A4"} {
		if got := g.do(http.MethodGet, path, "", "Authorization: Bearer sk-a-secret"); got.status != 404 {
			t.Errorf("%s: %d %s", path, got.status, got.body)
		}
	}
	ends(t, r, a, b.ID)
}
