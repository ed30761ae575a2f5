//go:build slow

package system_test

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// One gateway carries 2,000 streams at once, drops none, and takes a bounded
// piece of memory for each. The figures go into docs/gateway.md.
func TestGatewayManyStreams(t *testing.T) {
	const streams, tokens = 2000, 40
	w := newWorld(t)
	b := w.broker()
	b.ready()
	w.agent("w1", "--slots", strconv.Itoa(streams), "--mock-token-time", "500ms", "--mock-batch-slowdown", "0").ready()
	g, url := w.gateway("gateway")
	before := resident(t, g)
	body := fmt.Sprintf(`{"model":"mock","stream":true,"max_tokens":%d,"messages":[{"role":"user","content":"Hello"}]}`, tokens)
	var begun, whole atomic.Int64
	all := make(chan struct{}) // closed when every stream has begun
	var reading sync.WaitGroup
	transport := &http.Transport{MaxIdleConns: -1}
	defer transport.CloseIdleConnections()
	for range streams {
		reading.Go(func() {
			ctx, cancel := context.WithTimeout(context.Background(), 10*patience)
			defer cancel()
			req, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/v1/chat/completions", strings.NewReader(body))
			if err != nil {
				t.Error(err)
				return
			}
			resp, err := transport.RoundTrip(req)
			if err != nil {
				t.Error(err)
				return
			}
			defer resp.Body.Close()
			events, done := 0, false
			for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
				data, ok := strings.CutPrefix(lines.Text(), "data: ")
				if !ok {
					continue
				}
				if events++; events == 1 && begun.Add(1) == streams {
					close(all)
				}
				done = data == "[DONE]"
			}
			if done && events == tokens+2 { // the reason of the end, and its mark
				whole.Add(1)
			}
		})
	}
	select {
	case <-all:
	case <-t.Context().Done():
	}
	during := resident(t, g)
	open := metric(t, g, "fairlead_gateway_streams")
	reading.Wait()
	if whole.Load() != streams {
		t.Errorf("%d of %d streams were whole", whole.Load(), streams)
	}
	t.Logf("%v streams open at once: %.0f MB resident, %.0f before: %.1f KB for each (%d cores)",
		open, during/1e6, before/1e6, (during-before)/streams/1e3, runtime.NumCPU())
	if per := (during - before) / streams; per > 200e3 {
		t.Errorf("%.0f bytes for each stream; want at most 200 KB", per)
	}
}

func resident(t *testing.T, p *process) float64 { return metric(t, p, "process_resident_memory_bytes") }

// metric is the value of a series without labels.
func metric(t *testing.T, p *process, name string) float64 {
	t.Helper()
	_, text := p.probe("/metrics")
	m := regexp.MustCompile(`(?m)^` + name + ` (\S+)$`).FindStringSubmatch(text)
	if m == nil {
		t.Fatalf("no metric %s", name)
	}
	v, err := strconv.ParseFloat(m[1], 64)
	must(t, err)
	return v
}

// A batch of thousands of lines runs through, and nothing is left of it in the
// queue. The figure goes into docs/gateway.md.
func TestGatewayManyLines(t *testing.T) {
	const lines = 5000
	w := newWorld(t)
	w.running("w1", "w2")
	_, url := w.gateway("gateway")
	began := time.Now()
	id := w.batch(url, lines)
	var b batchStatus
	eventually(t, "half of it is done", func() bool {
		b = w.batchStatus(url, id)
		return b.Counts.Completed > lines/2 || b.Status == "completed"
	})
	eventually(t, "all of it is done", func() bool { b = w.batchStatus(url, id); return b.Status == "completed" })
	if b.Counts.Completed != lines || b.Counts.Failed != 0 {
		t.Errorf("%+v; want %d lines done", b, lines)
	}
	t.Logf("%d lines in %.1f s: %.0f a second (%d cores)", lines, time.Since(began).Seconds(), lines/time.Since(began).Seconds(), runtime.NumCPU())
	w.awaitEmpty(w.store())
}
