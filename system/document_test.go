package system_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"fairlead/client"
	"fairlead/wire"
)

// shell runs lines of subjects.md as a person would type them: the nats command
// is on the path and knows the server.
type shell struct {
	*world
	dir, bin string
}

func (w *world) shell() *shell {
	w.t.Helper()
	cli, err := program.nats()
	must(w.t, err)
	w.file("body.json", `{"messages":[{"role":"user","content":"a template: {{ . }}"}],"max_tokens":4}`)
	return &shell{world: w, dir: w.t.TempDir(), bin: filepath.Dir(cli)}
}

// start runs a line in the background.
func (s *shell) start(line string) *process {
	s.t.Helper()
	cmd := exec.Command("sh", "-c", "exec "+line)
	cmd.Dir = s.world.dir
	return start(s.t, line, cmd, "NATS_URL="+s.url, "XDG_CONFIG_HOME="+s.dir, "HOME="+s.dir, "PATH="+s.bin+":"+os.Getenv("PATH"))
}

// run runs a line to its end and returns what it printed.
func (s *shell) run(line string) string {
	s.t.Helper()
	p := s.start(line)
	if code := p.exit(); code != 0 {
		s.t.Fatalf("%s: exit code %d\n%s%s", line, code, p.out, p.log)
	}
	return p.out.String() + p.log.String()
}

// ask runs a line that asks and returns the id of the receipt.
func (s *shell) ask(line string) uint64 {
	s.t.Helper()
	out := s.run(line)
	var receipt struct {
		Stream string
		Seq    uint64
	}
	for l := range strings.Lines(out) {
		if strings.HasPrefix(l, "{") && json.Unmarshal([]byte(l), &receipt) == nil && receipt.Stream == "REQ" {
			return receipt.Seq
		}
	}
	s.t.Fatalf("%s: no receipt in %s", line, out)
	return 0
}

// has checks that a text has words in it.
func has(t *testing.T, text string, words ...string) {
	t.Helper()
	for _, w := range words {
		if !strings.Contains(text, w) {
			t.Errorf("want %q in:\n%s", w, text)
		}
	}
}

// byHand are the commands of the table in subjects.md, by what they are for.
func byHand(t *testing.T) map[string]string {
	t.Helper()
	data, err := os.ReadFile("../subjects.md")
	must(t, err)
	_, section, ok := strings.Cut(string(data), "\n## By hand, with the `nats` command\n")
	if !ok {
		t.Fatal("subjects.md has no section for the nats command")
	}
	section, _, _ = strings.Cut(section, "\n## ")
	rows := map[string]string{}
	for _, m := range regexp.MustCompile("(?m)^\\| ([^|`]+) \\| `([^`]+)` \\|$").FindAllStringSubmatch(section, -1) {
		rows[m[1]] = m[2]
	}
	return rows
}

// inShort are the two lines with which subjects.md begins.
func inShort(t *testing.T) (listen, ask string) {
	t.Helper()
	data, err := os.ReadFile("../subjects.md")
	must(t, err)
	m := regexp.MustCompile("(?s)## In short\n\n```\n(nats sub [^\n]*) &\n(nats req [^\n]*)\n```").FindStringSubmatch(string(data))
	if m == nil {
		t.Fatal("subjects.md does not begin with the two lines")
	}
	return m[1], m[2]
}

func TestInShort(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.running("gpu-1")
	s := w.shell()
	listen, ask := inShort(t)
	ear := s.start(listen)
	ear.writes(ear.log, "Subscribing on")
	id := s.ask(ask)
	ear.writes(ear.out, "Fairlead-Final: true")
	ear.writes(ear.out, "chat.completion")
	has(t, ear.out.String(), fmt.Sprintf("Fairlead-Id: %d", id), "Fairlead-Attempt: 1", "Fairlead-Worker: gpu-1", "Fairlead-Status: ok", `"output_tokens":64`)
}

// exampleID is the id in the examples of subjects.md.
const exampleID = "1795977623809902"

func with(line string, id uint64) string {
	return strings.ReplaceAll(line, exampleID, fmt.Sprint(id))
}

// TestByHand executes every row of the table.
func TestByHand(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.broker().ready()
	w.agent("gpu-1", "--model", "llama").ready()
	s, c := w.shell(), w.client()
	rows := byHand(t)
	take := func(to string) string {
		line, ok := rows[to]
		if !ok {
			t.Fatalf("subjects.md has no row %q: %v", to, rows)
		}
		delete(rows, to)
		return line
	}

	kept := s.ask(take("ask, and keep the result"))
	w.awaitState(c, kept, wire.StateEnded)
	has(t, s.run(with(take("read the last message of a result"), kept)), "Fairlead-Final: true", "Fairlead-Status: ok", "chat.completion")
	has(t, s.run(with(take("read a whole result"), kept)), "Fairlead-Final: true", "chat.completion")

	headers := s.ask(take("ask with headers"))
	w.awaitState(c, headers, wire.StateEnded)
	has(t, s.run(with("nats stream get RES --last-for=res."+exampleID, headers)), "Fairlead-Status: ok", `"output_tokens":4`)

	pinned := take("ask one worker")
	w.awaitState(c, s.ask(pinned), wire.StateEnded)
	waits := s.ask(strings.ReplaceAll(pinned, "gpu-1", "gpu-2"))
	has(t, s.run(with(take("see where a request is"), waits)), `"state":"queued"`, fmt.Sprint(waits))
	has(t, s.run(with(take("see why a request waits"), waits)), `"lane":"gpu-2"`, "no worker takes work for it")
	ear := s.start(with(take("wait for a result as it comes"), waits))
	ear.writes(ear.log, "Subscribing on")
	w.agent("gpu-2", "--model", "llama").ready()
	ear.writes(ear.out, "Fairlead-Final: true")
	has(t, ear.out.String(), "Fairlead-Worker: gpu-2")

	once := take("ask once, however often it is sent")
	s.run(once)
	has(t, s.run(once), "Duplicate: true")

	has(t, s.run(take("see the classes and workers")), `"leader":"b1"`, `"class":"batch"`, `"worker":"gpu-1"`, `"recovered":true`)
	has(t, s.run(take("see the models")), `{"models":[{"name":"llama","workers":2}]}`)

	unwanted := s.ask(strings.ReplaceAll(pinned, "gpu-1", "gpu-3"))
	has(t, s.run(with(take("cancel"), unwanted)), `"outcome":"found"`)
	w.awaitState(c, unwanted, wire.StateEnded)
	has(t, s.run(with("nats stream get RES --last-for=res."+exampleID, unwanted)), "Fairlead-Reason: cancelled", "Nats-Service-Error-Code: 499")

	w.bury()
	has(t, s.run(take("see a request that was given up")), "Fairlead-Dead-Reason: attempts_exhausted", `{"messages":[]}`)

	ear = s.start(take("watch the workers' heartbeats"))
	ear.writes(ear.out, `"load.gpu-1"`)
	for to := range rows {
		t.Errorf("the row %q of subjects.md is not executed", to)
	}
}

// bury puts a request among the dead, as a broker does after its last attempt.
func (w *world) bury() {
	w.t.Helper()
	st := w.store()
	m := nats.NewMsg(st.Names.Dead("batch"))
	m.Header.Set(wire.HeaderDeadID, exampleID)
	m.Header.Set(wire.HeaderDeadReason, string(wire.AttemptsExhausted))
	m.Data = []byte(`{"messages":[]}`)
	_, err := st.JS.PublishMsg(w.t.Context(), m)
	must(w.t, err)
}

// TestStrangersMistakes asks by hand what cannot be read: the answer names the
// header, on the inbox as on the stream of results.
func TestStrangersMistakes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.running("gpu-1")
	s, c := w.shell(), w.client()
	for name, header := range map[string]string{
		wire.HeaderInputTokens: "many", wire.HeaderTTL: "soon", wire.HeaderPriority: "NaN", wire.HeaderRetry: "twice", "Fairlead-Colour": "blue",
	} {
		id := s.ask(fmt.Sprintf("nats req --raw req.interactive '{}' -H '%s: %s'", name, header))
		w.awaitState(c, id, wire.StateEnded)
		got := s.run(with("nats stream get RES --last-for=res."+exampleID, id))
		has(t, got, "Fairlead-Final: true", "Fairlead-Status: error", "Fairlead-Reason: invalid_request", "Nats-Service-Error-Code: 400", name)
	}
	ear := s.start("nats sub _INBOX.me")
	ear.writes(ear.log, "Subscribing on")
	s.ask("nats req --raw req.interactive '{}' -H 'Fairlead-Reply-To: _INBOX.me' -H 'Fairlead-Max-Output-Tokens: -1'")
	ear.writes(ear.out, "Fairlead-Reason: invalid_request")
	ear.writes(ear.out, wire.HeaderMaxOutput)
	has(t, s.run("nats req --raw ctl.cancel 'that one'"), `"error":`)
	w.result(w.ask(c, client.Request{Body: []byte(`{"max_tokens":1}`)}))
}
