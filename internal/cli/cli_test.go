package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead/internal/cli"
	"fairlead/wire"
)

var usage = wire.Usage{Prompt: 10, Cached: 4, Output: 2}

// whole answers with one body, stream with two chunks.
func (r *rig) whole(o wire.Origin, reply string) {
	r.publish(reply, o.FinalOK(0, usage), `{"answer":42}`)
}

func (r *rig) stream(o wire.Origin, reply string) {
	r.publish(reply, o.Chunk(0), `{"delta":"a"}`)
	r.publish(reply, o.Chunk(1), `[DONE]`)
	r.publish(reply, o.FinalOK(2, usage), "")
}

func TestSubmit(t *testing.T) {
	r := newRig(t)
	r.worker(r.whole)
	for name, args := range map[string][]string{
		"body":  {"submit", "-c", "a", "--body", "{}"},
		"stdin": {"submit", "-c", "a"},
		"dash":  {"submit", "-c", "a", "-f", "-"},
		"file":  {"submit", "-c", "a", "-f", filepath.Join("testdata", "body.json")},
	} {
		t.Run(name, func(t *testing.T) {
			got := r.run("{}", args...)
			if got.code != 0 || got.out != "{\"answer\":42}\n" {
				t.Errorf("%+v", got)
			}
			if !strings.HasPrefix(got.err, "request ") || !strings.Contains(got.err, "attempt 1 on gpu-1; 10 tokens in, 4 of them cached, 2 out") {
				t.Errorf("stderr %q", got.err)
			}
		})
	}
}

func TestSubmitChunks(t *testing.T) {
	r := newRig(t)
	r.worker(r.stream)
	for _, args := range [][]string{{}, {"--stream"}} {
		got := r.run("{}", append([]string{"submit", "-c", "a"}, args...)...)
		if got.code != 0 || got.out != "{\"delta\":\"a\"}\n[DONE]\n" {
			t.Errorf("%v: %+v", args, got)
		}
	}
	got := r.run("{}", "submit", "-c", "a", "--stream", "--json")
	var events []string
	for line := range strings.Lines(got.out) {
		var l struct {
			Event   string
			ID      uint64
			Attempt uint32
			Index   *int
			Data    any
			Usage   *wire.Usage
		}
		must(t, json.Unmarshal([]byte(line), &l))
		if l.ID == 0 {
			t.Errorf("without an id: %s", line)
		}
		event := l.Event
		if l.Index != nil {
			event = fmt.Sprintf("%s %d/%d %v", event, l.Attempt, *l.Index, l.Data)
		}
		if l.Usage != nil {
			event = fmt.Sprintf("%s %v", event, *l.Usage)
		}
		events = append(events, event)
	}
	want := []string{"receipt", "chunk 1/0 map[delta:a]", "chunk 1/1 [DONE]", "result {10 4 2}"}
	if diff := cmp.Diff(want, events); diff != "" || got.code != 0 || got.err != "" {
		t.Errorf("code %d, stderr %q, -want +got\n%s", got.code, got.err, diff)
	}
}

func TestSubmitSendsItsFlags(t *testing.T) {
	r := newRig(t)
	got := r.run("{}", "submit", "--stored", "-c", "a", "-m", "llama", "--path", "/v1/completions", "--tenant", "acme",
		"--input-tokens", "100", "--cached-tokens", "50", "--max-output-tokens", "7", "--priority", "1.5", "--strict-priority", "2",
		"--worker", "gpu-1", "--pin", "prefer", "--dp-rank", "0", "--allow-workers", "gpu-1,gpu-2", "--require-taints", "x",
		"--prefer-taints", "y", "--ttl", "90s", "--retry", "always", "--no-queue", "--traceparent", "00-a")
	var id uint64
	if _, err := fmt.Sscan(got.out, &id); err != nil || got.code != 0 {
		t.Fatalf("%+v: %v, want the id alone", got, err)
	}
	m, err := r.store.Get(r.ctx, r.store.Names.StreamREQ(), id)
	must(t, err)
	h := wire.Header{}
	for k, v := range m.Header {
		if strings.HasPrefix(k, "Fairlead-") || k == wire.HeaderTraceparent {
			h[k] = v
		}
	}
	q, refusal := wire.Rules{Names: r.store.Names}.ParseRequest(wire.Message{Subject: m.Subject, Header: h, Size: len(m.Data)})
	want := wire.Request{
		Class: "a", Worker: "gpu-1", Model: "llama", Path: wire.PathCompletions, Tenant: "acme", Traceparent: "00-a",
		Allow: []string{"gpu-1", "gpu-2"}, Require: []string{"x"}, Prefer: []string{"y"}, Priority: 1.5, TTL: 90 * time.Second,
		Input: 100, Cached: 50, MaxOutput: 7, Strict: 2, Rank: 0, Pin: wire.PinPrefer, Retry: wire.RetryAlways, NoQueue: true,
	}
	if diff := cmp.Diff(want, q); diff != "" || refusal != nil {
		t.Errorf("refusal %v, -want +got\n%s", refusal, diff)
	}
}

func TestSubmitStoredThenAwait(t *testing.T) {
	r := newRig(t)
	r.worker(r.stream)
	first := r.run("{}", "submit", "-c", "a", "--idempotency-key", "k")
	second := r.run("{}", "submit", "-c", "a", "--idempotency-key", "k", "--json")
	id := strings.TrimSpace(first.out)
	if want := fmt.Sprintf("{\"event\":\"receipt\",\"id\":%s,\"duplicate\":true}\n", id); second.out != want {
		t.Errorf("got %q, want %q", second.out, want)
	}
	got := r.run("", "await", id)
	if got.code != 0 || got.out != "{\"delta\":\"a\"}\n[DONE]\n" {
		t.Errorf("%+v", got)
	}
}

func TestOutcomesAreExitCodes(t *testing.T) {
	for reason, code := range map[wire.Reason]int{
		wire.InvalidRequest: 3, wire.QueueFull: 4, wire.NoWorker: 4, wire.EngineError: 5, wire.WorkerLost: 5,
		wire.DeadlineExceeded: 6, wire.Shed: 6, wire.Cancelled: 130,
	} {
		t.Run(string(reason), func(t *testing.T) {
			r := newRig(t)
			r.worker(func(o wire.Origin, reply string) {
				r.publish(reply, o.FinalError(0, wire.Failure{Reason: reason, Detail: "because", RetryAfter: 3 * time.Second}), `{"engine":"words"}`)
			})
			got := r.run("{}", "submit", "-c", "a")
			if got.code != code || !strings.Contains(got.err, string(reason)) || !strings.Contains(got.err, "because (ask again in 3s)") || got.out != "{\"engine\":\"words\"}\n" {
				t.Errorf("%+v, want code %d", got, code)
			}
		})
	}
}

func TestInterruptCancels(t *testing.T) {
	r := newRig(t)
	ctx, interrupt := context.WithCancel(r.ctx)
	cancelled := make(chan string, 1)
	r.leader("blue.ctl.cancel", func(body string) any {
		cancelled <- body
		return wire.CancelReply{Outcome: wire.CancelFound}
	})
	var out bytes.Buffer
	said := &trigger{on: "request ", do: interrupt} // the receipt: before it there is no id to cancel
	args := []string{"submit", "-c", "a", "--nats-url", r.url, "--namespace", "blue"}
	code := cli.Run(ctx, cli.Root(), args, cli.Streams{In: strings.NewReader("{}"), Out: &out, Err: said})
	if code != 130 || !strings.Contains(said.String(), "interrupted and cancelled") || out.Len() > 0 {
		t.Errorf("code %d, stdout %q, stderr %q", code, out.String(), said.String())
	}
	if body := <-cancelled; !strings.Contains(said.String(), strings.TrimSuffix(strings.TrimPrefix(body, `{"id":`), "}")) {
		t.Errorf("cancelled %s, said %q", body, said.String())
	}
}

// trigger is a writer that does something once it has been told a text.
type trigger struct {
	mu   sync.Mutex
	text bytes.Buffer
	on   string
	do   func()
}

func (w *trigger) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.text.Write(p)
	if strings.Contains(w.text.String(), w.on) {
		w.do()
	}
	return len(p), nil
}

func (w *trigger) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.String()
}

func TestCancel(t *testing.T) {
	r := newRig(t)
	r.leader("blue.ctl.cancel", func(body string) any {
		if body == `{"id":7}` {
			return wire.CancelReply{ID: 7, Outcome: wire.CancelFound}
		}
		return wire.CancelReply{Outcome: wire.CancelUnknown}
	})
	if got, want := r.run("", "cancel", "7"), (run{0, "7 found\n", ""}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got, want := r.run("", "cancel", "7", "8"), (run{3, "7 found\n8 unknown\n", ""}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestPolicyCheck(t *testing.T) {
	good := filepath.Join("..", "..", "examples", "premium-regular.yaml")
	bad := filepath.Join(t.TempDir(), "bad.yaml")
	must(t, os.WriteFile(bad, []byte("worker_selection: x\nno_such_field: 1\n"), 0o600))
	got := execute(t.Context(), "", "policy", "check", good)
	if got.code != 0 || got.err != "" || !strings.Contains(got.out, "premium") || !strings.HasPrefix(got.out, "# "+good) {
		t.Errorf("%+v", got)
	}
	odd := filepath.Join("..", "..", "policy", "testdata", "warn", "limits.yaml")
	got = execute(t.Context(), "", "policy", "check", odd)
	if got.code != 0 || !strings.Contains(got.err, "warning: "+odd+":9:") || !strings.Contains(got.out, "a_short") {
		t.Errorf("%+v", got)
	}
	got = execute(t.Context(), "", "policy", "check", bad, good, "missing.yaml")
	for _, part := range []string{"worker_selection", "no_such_field", bad + ":2:", "missing.yaml"} {
		if !strings.Contains(got.err, part) {
			t.Errorf("stderr %q; want a word about %s", got.err, part)
		}
	}
	if got.code != 1 || !strings.Contains(got.out, "premium") {
		t.Errorf("%+v", got)
	}
}

func TestWrongCommandLines(t *testing.T) {
	t.Setenv("FAIRLEAD_NATS_URL", "nats://127.0.0.1:1") // must not be asked
	for _, tc := range []struct {
		args []string
		says string
	}{
		{[]string{"bogus"}, "unknown command"},
		{[]string{"stauts"}, "do you mean status"},
		{[]string{"policy", "chck"}, "do you mean check"},
		{[]string{"dead", "lst"}, "do you mean list"},
		{[]string{"dead", "bogus"}, "fairlead dead --help"},
		{[]string{"submit", "--bogus"}, "unknown flag"},
		{[]string{"submit", "extra"}, "--body"},
		{[]string{"submit", "--body", "{}"}, "--class"},
		{[]string{"submit", "-c", "a", "--body", "{}", "-f", "x"}, "want one"},
		{[]string{"submit", "-c", "a", "-f", "no-such-file"}, "no-such-file"},
		{[]string{"submit", "-c", "a", "--pin", "x"}, "hard or prefer"},
		{[]string{"submit", "-c", "a", "--retry", "x"}, "auto, always or never"},
		{[]string{"submit", "-c", "a", "--dp-rank", "70000"}, "65535"},
		{[]string{"submit", "-c", "a", "--input-tokens", "-1"}, "input-tokens"},
		{[]string{"await"}, "for example: fairlead await 1795977623809902"},
		{[]string{"await", "0"}, `"0" is no request id`},
		{[]string{"cancel"}, "want request ids, got nothing"},
		{[]string{"cancel", "x"}, `"x" is no request id`},
		{[]string{"status", "1", "x"}, `"x" is no request id`},
		{[]string{"status", "--watch", "-1s"}, "--watch"},
		{[]string{"policy", "check"}, "want policy files"},
		{[]string{"policy", "apply", "a", "b"}, "want one policy file"},
		{[]string{"dead", "show"}, "want one request id"},
		{[]string{"dead", "purge"}, "or --all"},
	} {
		got := execute(t.Context(), "{}", tc.args...)
		if got.code != 2 || !strings.Contains(got.err, tc.says) || got.out != "" {
			t.Errorf("%v: %+v, want code 2 and a word about %s", tc.args, got, tc.says)
		}
	}
}

func TestConnectionFromTheEnvironment(t *testing.T) {
	r := newRig(t)
	r.leader("blue.ctl.status", func(string) any { return wire.BrokerStatus{Leader: "b1"} })
	t.Setenv("FAIRLEAD_NATS_URL", r.url)
	t.Setenv("FAIRLEAD_NAMESPACE", "blue")
	if got := execute(r.ctx, "", "status"); got.code != 0 || !strings.Contains(got.out, "leader b1") {
		t.Errorf("%+v", got)
	}
	t.Setenv("FAIRLEAD_NATS_URL", "nats://127.0.0.1:1")
	t.Setenv("FAIRLEAD_CONNECT_TIMEOUT", "0")
	if got, want := execute(r.ctx, "", "status"), (run{1, "", "fairlead: connect to nats://127.0.0.1:1: connection refused\n"}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got := execute(r.ctx, "", "status", "--nats-url", r.url); got.code != 0 {
		t.Errorf("a flag does not win over the environment: %+v", got)
	}
}

func TestVersionAndCompletion(t *testing.T) {
	for _, args := range [][]string{{"version"}, {"completion", "bash"}, {"help"}, {}} {
		if got := execute(t.Context(), "", args...); got.code != 0 || got.out == "" || got.err != "" {
			t.Errorf("%v: %+v", args, got)
		}
	}
}
