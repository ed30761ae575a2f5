package system_test

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"fairlead/wire"
)

// fairlead starts our command, with the server in its environment.
func (w *world) fairlead(args ...string) *process {
	w.t.Helper()
	cmd := exec.Command(program.path("fairlead"), args...)
	cmd.Dir = w.dir
	return start(w.t, "fairlead "+strings.Join(args, " "), cmd, "FAIRLEAD_NATS_URL="+w.url)
}

// says runs it to its end and checks exit code, stdout and stderr.
func (w *world) says(code int, out, log string, args ...string) string {
	w.t.Helper()
	p := w.fairlead(args...)
	if got := p.exit(); got != code {
		w.t.Errorf("%s: exit code %d, want %d\n%s", p.name, got, code, p.log)
	}
	has(w.t, p.out.String(), out)
	has(w.t, p.log.String(), log)
	return p.out.String()
}

func TestFairleadCommand(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.running("gpu-1")
	body := w.file("body.json", `{"stream":true,"max_tokens":3}`)

	w.says(0, `"object":"chat.completion"`, "attempt 1 on gpu-1", "submit", "-c", "interactive", "--body", `{"max_tokens":2}`)
	chunks := w.says(0, `"content":" ran"`, "3 out", "submit", "-c", "batch", "-f", body, "--stream")
	if n := strings.Count(chunks, "chat.completion.chunk"); n < 3 {
		t.Errorf("%d chunks of 3 tokens:\n%s", n, chunks)
	}
	id := strings.TrimSpace(w.says(0, "", "its result is kept", "submit", "-c", "batch", "-f", body, "--stored"))
	w.says(0, `"content":" ran"`, "attempt 1 on gpu-1", "await", id)
	w.says(0, `"event":"result"`, "", "await", id, "--json")
	w.says(0, "ended", "", "status", id)
	w.says(3, id+" done", "", "cancel", id)
	w.says(0, "gpu-1   ready", "", "status")

	waits := strings.TrimSpace(w.says(0, "", "", "submit", "-c", "batch", "--body", "{}", "--worker", "gpu-9", "--stored"))
	w.says(0, "queued", "", "status", waits)
	w.says(0, waits+" found", "", "cancel", waits)
	w.says(130, "", "cancelled (499)", "await", waits)
}

func TestFairleadStatusIsJSON(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.running("gpu-1")
	var st wire.BrokerStatus
	must(t, json.Unmarshal([]byte(w.says(0, "{", "", "status", "--json")), &st))
	if st.Leader != "b1" || len(st.Workers) != 1 || st.Workers[0].Slots != slots {
		t.Errorf("%+v", st)
	}
}

func TestFairleadRefusals(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.file("policy.yaml", "unknown_class: reject\n"+strings.ReplaceAll(twoClasses, "quantum:", "no_worker_grace: 1s, quantum:"))
	w.running("gpu-1")
	good, bad := w.file("good.yaml", twoClasses), w.file("bad.yaml", strings.ReplaceAll(twoClasses, "quantum:", "quantam:"))
	for _, tc := range []struct {
		code     int
		out, log string
		args     []string
	}{
		{2, "", "unknown flag: --clas", []string{"submit", "--clas", "interactive"}},
		{2, "", "unknown command", []string{"submti"}},
		{2, "", "--class is missing", []string{"submit", "--body", "{}"}},
		{2, "", `--retry "twice"; want auto, always or never`, []string{"submit", "-c", "batch", "--body", "{}", "--retry", "twice"}},
		{2, "", "want the number of a receipt", []string{"await", "first"}},
		{2, "", "open absent.json", []string{"submit", "-c", "batch", "-f", "absent.json"}},
		{3, "", wire.HeaderTTL, []string{"submit", "-c", "batch", "--body", "{}", "--ttl", "10ms"}},
		{3, "", `"nosuch"`, []string{"submit", "-c", "nosuch", "--body", "{}"}},
		{3, "", "model_not_found", []string{"submit", "-c", "batch", "--body", "{}", "-m", "nosuch"}},
		{3, "", "not a JSON object", []string{"submit", "-c", "batch", "--body", "["}},
		{4, "", "queue_full", []string{"submit", "-c", "batch", "--body", "{}", "--worker", "gpu-9", "--no-queue"}},
		{0, "interactive", "", []string{"policy", "check", good}},
		{1, "", "bad.yaml:5", []string{"policy", "check", bad}},
		{1, "", "bad.yaml:6", []string{"policy", "check", bad}},
		{1, "", "absent.yaml", []string{"policy", "check", "absent.yaml"}},
	} {
		t.Run(strings.Join(tc.args, " "), func(t *testing.T) {
			(&world{t: t, dir: w.dir, url: w.url}).says(tc.code, tc.out, tc.log, tc.args...)
		})
	}
}

func TestInterruptOfSubmitCancels(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.broker().ready()
	w.agent("gpu-1", "--mock-fail", "hang@1").ready()
	c := w.client()
	p := w.fairlead("submit", "-c", "batch", "--body", "{}", "--json")
	p.writes(p.out, `"event":"receipt"`)
	var receipt struct{ ID uint64 }
	must(t, json.Unmarshal([]byte(p.out.String()), &receipt))
	w.awaitState(c, receipt.ID, wire.StateRunning)
	p.signal(syscall.SIGINT)
	p.fails(130, fmt.Sprintf("request %d: interrupted and cancelled", receipt.ID))
	w.awaitState(c, receipt.ID, wire.StateEnded)
	w.awaitEmpty(w.store())
}

// Nothing listens at all, or a server without Fairlead: a sentence, not a hang.
func TestFairleadWithoutServer(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, args := range [][]string{{"submit", "-c", "batch", "--body", "{}"}, {"await", "7"}, {"cancel", "7"}, {"status"}} {
		w.says(1, "", fmt.Sprintf("connect to %s: ", w.url), args...)
	}
	w.external()
	submit, status := w.fairlead("submit", "-c", "batch", "--body", "{}"), w.fairlead("status")
	submit.fails(1, "is a broker running")
	status.fails(1, "is one running")
}
