package system_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// gateway starts one on a free port, and returns the address of its API.
func (w *world) gateway(name string, args ...string) (p *process, url string) {
	w.t.Helper()
	addr := net.JoinHostPort("127.0.0.1", strconv.Itoa(freePort(w.t)))
	own := []string{"--nats-url", w.url, "--listen", addr, "--class", "interactive"}
	p = w.daemon(name, "gateway", append(own, args...)...)
	p.ready()
	return p, "http://" + addr
}

const greeting = `{"model":"mock","messages":[{"role":"user","content":"Hello"}],"max_tokens":4}`

// post asks a gateway, and returns the status and all of the answer.
func post(t *testing.T, url, body string, headers ...string) (int, string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Error(err)
		return 0, ""
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		req.Header.Set(name, value)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Error(err)
		return 0, ""
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Error(err)
	}
	return resp.StatusCode, string(data)
}

// curl runs the command, as it is.
func curl(t *testing.T, args ...string) string {
	t.Helper()
	path, err := exec.LookPath("curl")
	if err != nil {
		t.Skip("*** SKIPPED: curl is not installed ***")
	}
	out, err := exec.Command(path, append([]string{"-sS"}, args...)...).Output()
	if err != nil {
		t.Fatalf("curl %v: %v", args, err)
	}
	return string(out)
}

// curl, unmodified, gets whole and streamed answers and errors.
func TestGatewayCurl(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.running("w1")
	_, url := w.gateway("gateway")
	streamed := strings.Replace(greeting, "{", `{"stream":true,`, 1)
	for name, c := range map[string]struct {
		path, body string
		want       []string
	}{
		"chat":              {"/v1/chat/completions", greeting, []string{`"content":"the line ran out"`}},
		"chat, streamed":    {"/v1/chat/completions", streamed, []string{"data: {", `"content":"the"`, "data: [DONE]"}},
		"completion":        {"/v1/completions", `{"model":"mock","prompt":"Hello","max_tokens":2}`, []string{`"text":"the line"`}},
		"completion stream": {"/v1/completions", `{"model":"mock","prompt":"Hello","max_tokens":2,"stream":true}`, []string{`"text":" line"`, "data: [DONE]"}},
		"error":             {"/v1/chat/completions", `{"model":"nobody"}`, []string{`"code":"model_not_found"`}},
	} {
		got := curl(t, "-N", url+c.path, "-H", "Content-Type: application/json", "-d", c.body)
		for _, want := range c.want {
			if !strings.Contains(got, want) {
				t.Errorf("%s: %q; want %q in it", name, got, want)
			}
		}
	}
	if got := curl(t, url+"/v1/models"); !strings.Contains(got, `"id":"mock"`) {
		t.Errorf("models: %q", got)
	}
}

// The keys are read again at SIGHUP, a drain finishes what is under way, and the
// daemon checks and prints its settings.
func TestGatewayDaemon(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, agents := w.running("w1")
	const secret = "secret: 0123456789abcdef0123456789abcdef\n"
	file := w.file("keys.yaml", secret+"keys: [{name: one, key: sk-first-secret}]")
	g, url := w.gateway("gateway", "--keys", file)
	ask := func(key string) int {
		status, _ := post(t, url+"/v1/chat/completions", greeting, "Authorization: Bearer "+key)
		return status
	}
	if a, b := ask("sk-first-secret"), ask("sk-second-secret"); a != 200 || b != 401 {
		t.Errorf("a known key: %d, an unknown one: %d", a, b)
	}
	w.file("keys.yaml", secret+"keys: [{name: two, key: short}]")
	g.signal(syscall.SIGHUP)
	g.says("keys not reloaded")
	w.file("keys.yaml", secret+"keys: [{name: two, key: sk-second-secret}]")
	g.signal(syscall.SIGHUP)
	g.says("keys reloaded")
	if a, b := ask("sk-first-secret"), ask("sk-second-secret"); a != 401 || b != 200 {
		t.Errorf("after the reload, the old key: %d, the new one: %d", a, b)
	}
	if strings.Contains(g.log.String(), "secret") {
		t.Error("a secret is in the log")
	}

	out, err := exec.Command(program.path("gateway"), "healthcheck", "--ready", "--http", strings.TrimPrefix(g.http, "http://")).CombinedOutput()
	if err != nil {
		t.Errorf("healthcheck: %v: %s", err, out)
	}
	out, err = exec.Command(program.path("gateway"), "config", "--class", "premium", "--keys", file).CombinedOutput()
	if err != nil || !strings.Contains(string(out), `class: premium # --class`) {
		t.Errorf("config: %v: %s", err, out)
	}
	out, err = exec.Command(program.path("gateway"), "config", "--class", "a.b").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "class") {
		t.Errorf("config with a class that is none: %v: %s", err, out)
	}

	long := strings.Replace(greeting, ":4}", ":50}", 1)
	answered := make(chan int, 1)
	go func() {
		status, _ := post(t, url+"/v1/chat/completions", long, "Authorization: Bearer sk-second-secret")
		answered <- status
	}()
	eventually(t, "it is under way", func() bool {
		_, text := g.probe("/metrics")
		return strings.Contains(text, `fairlead_gateway_in_flight{path="/v1/chat/completions"} 1`)
	})
	g.signal(syscall.SIGTERM)
	if status := <-answered; status != 200 {
		t.Errorf("a request in a drain: status %d", status)
	}
	if code := g.exit(); code != 0 {
		t.Errorf("drained with exit code %d", code)
	}
	_ = agents
}

// duelPolicy is the duel of examples/premium-regular.yaml.
const duelPolicy = `
default_policy_family: regular
uncached_isl_buckets: [{min_tokens: 0, bucket: all}]
policy_classes:
  - {name: premium, policy_family: premium, cache_bucket: all, queue_policy: fcfs, quantum: 512, prefill_busy_threshold: 1536, request_queue_limit_per_worker: 1024}
  - {name: regular, policy_family: regular, cache_bucket: all, queue_policy: fcfs, quantum: 128, prefill_busy_threshold: 1536, request_queue_limit_per_worker: 1024}
`

// Premium and regular have 4 : 1 over HTTP, also when each class comes in through
// a gateway of its own: one arbiter decides, whatever the ingress.
func TestGatewayShares(t *testing.T) {
	t.Parallel()
	const each = 320
	w := newWorld(t)
	w.policy = w.file("duel.yaml", duelPolicy)
	b := w.broker()
	b.ready()
	_, one := w.gateway("gateway 1")
	_, two := w.gateway("gateway 2")
	body := fmt.Sprintf(`{"model":"mock","max_tokens":8,"messages":[{"role":"user","content":%q}]}`, strings.Repeat("the line ran out ", 126))
	var mu sync.Mutex // guards order
	var order []string
	var asked sync.WaitGroup
	for class, url := range map[string]string{"premium": one, "regular": two} {
		for range each {
			asked.Go(func() {
				status, text := post(t, url+"/v1/chat/completions", body, "x-fairlead-class: "+class)
				if status != 200 {
					t.Errorf("%s: status %d: %s", class, status, text)
				}
				mu.Lock()
				defer mu.Unlock()
				order = append(order, class)
			})
		}
	}
	c := w.client()
	eventually(t, "everything waits", func() bool {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		s, err := c.Status(ctx)
		queued := 0
		for i := range s.Classes {
			queued += s.Classes[i].Queued
		}
		return err == nil && queued == 2*each
	})
	w.agent("w1", "--slots", "4", "--mock-token-time", "2ms")
	asked.Wait()
	premium := 0
	for _, class := range order[:min(each, len(order))] {
		if class == "premium" {
			premium++
		}
	}
	if premium < 254 || premium > 258 {
		t.Errorf("%d of the first %d completions are premium; want 256 ± 2", premium, each)
	}
	t.Logf("%d of the first %d completions are premium", premium, each)
}
