package system_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"strings"
	"testing"
)

// A batch goes on in another gateway when its own is killed: every line has one
// result.
func TestGatewayBatchSurvivesKill(t *testing.T) {
	t.Parallel()
	const lines = 400
	w := newWorld(t)
	w.running("w1", "w2")
	first, one := w.gateway("gateway 1")
	id := w.batch(one, lines)
	eventually(t, "some lines are done", func() bool { return w.batchStatus(one, id).Counts.Completed > lines/20 })
	first.kill()
	_, two := w.gateway("gateway 2")
	var b batchStatus
	eventually(t, "the batch has ended", func() bool {
		b = w.batchStatus(two, id)
		return b.Status == "completed"
	})
	if b.Counts.Completed != lines || b.Counts.Failed != 0 || b.Errors != nil {
		t.Errorf("%+v; want %d lines done", b, lines)
	}
	_, text := w.get(two + "/v1/files/" + b.Output + "/content")
	seen := map[string]bool{}
	for line := range strings.Lines(text) {
		var l struct {
			CustomID string `json:"custom_id"`
		}
		must(t, json.Unmarshal([]byte(line), &l))
		if seen[l.CustomID] {
			t.Errorf("%s has two results", l.CustomID)
		}
		seen[l.CustomID] = true
	}
	if len(seen) != lines {
		t.Errorf("%d results; want %d", len(seen), lines)
	}
}

// batchStatus is what a gateway says of a batch.
type batchStatus struct {
	ID, Status string
	Output     string                                 `json:"output_file_id"`
	Errors     *string                                `json:"error_file_id"`
	Counts     struct{ Total, Completed, Failed int } `json:"request_counts"`
}

// batch uploads so many lines and creates a batch of them.
func (w *world) batch(url string, lines int) (id string) {
	w.t.Helper()
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	must(w.t, form.WriteField("purpose", "batch"))
	file, err := form.CreateFormFile("file", "input.jsonl")
	must(w.t, err)
	for n := range lines {
		fmt.Fprintf(file, `{"custom_id":"c%d","method":"POST","url":"/v1/chat/completions","body":%s}`+"\n", n, greeting)
	}
	must(w.t, form.Close())
	status, text := post(w.t, url+"/v1/files", body.String(), "Content-Type: "+form.FormDataContentType())
	var f struct{ ID string }
	if err := json.Unmarshal([]byte(text), &f); err != nil || status != http.StatusOK {
		w.t.Fatalf("upload: %d %s", status, text)
	}
	status, text = post(w.t, url+"/v1/batches", fmt.Sprintf(`{"input_file_id":%q,"endpoint":"/v1/chat/completions","completion_window":"24h"}`, f.ID))
	var b batchStatus
	if err := json.Unmarshal([]byte(text), &b); err != nil || status != http.StatusOK {
		w.t.Fatalf("create: %d %s", status, text)
	}
	return b.ID
}

func (w *world) batchStatus(url, id string) (b batchStatus) {
	w.t.Helper()
	status, text := w.get(url + "/v1/batches/" + id)
	if err := json.Unmarshal([]byte(text), &b); err != nil || status != http.StatusOK {
		w.t.Fatalf("%s: %d %s", id, status, text)
	}
	return b
}

func (w *world) get(url string) (int, string) {
	w.t.Helper()
	req, err := http.NewRequestWithContext(w.t.Context(), http.MethodGet, url, http.NoBody)
	must(w.t, err)
	resp, err := http.DefaultClient.Do(req)
	must(w.t, err)
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	must(w.t, err)
	return resp.StatusCode, string(data)
}
