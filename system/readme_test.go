package system_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// TestReadme runs what README.md tells a stranger to run: every line of its sh
// blocks, with this test's ports, folder and engine in the place of the usual
// ones. Targets of make must exist; CI runs them.
func TestReadme(t *testing.T) { follow(t, "../README.md") }

// TestSimulatorDocument runs what docs/simulator.md tells to run.
func TestSimulatorDocument(t *testing.T) { follow(t, "../docs/simulator.md") }

// follow runs the commands of a document.
func follow(t *testing.T, document string) {
	makefile := mustRead(t, "../Makefile")
	r := reader{t: t, w: newWorld(t), engine: standIn(t)}
	lines := 0
	for _, block := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(mustRead(t, document), -1) {
		for line := range strings.Lines(block[1]) {
			command, _, _ := strings.Cut(strings.TrimSpace(line), "#")
			words := split(command)
			lines++
			switch {
			case words[0] == "make":
				if !strings.Contains(makefile, "\n"+words[1]+":") {
					t.Errorf("make has no target %s", words[1])
				}
			case strings.HasPrefix(words[0], "bin/"):
				r.run(words)
			default:
				t.Errorf("%q is neither make nor one of our commands", command)
			}
		}
	}
	if lines < 5 {
		t.Fatalf("only %d commands found", lines)
	}
}

// TestReadmeMentions asks the programs about every command in the running text:
// the subcommands and flags must be theirs.
func TestReadmeMentions(t *testing.T) {
	text := mustRead(t, "../README.md") + mustRead(t, "../docs/simulator.md")
	mentions := regexp.MustCompile("`bin/([a-z-]+)([^`]*)`").FindAllStringSubmatch(text, -1)
	if len(mentions) == 0 {
		t.Fatal("none found")
	}
	for _, m := range mentions {
		sub, flags := []string{}, []string{}
		for _, word := range strings.Fields(m[2]) {
			switch {
			case strings.HasPrefix(word, "--"):
				flags = append(flags, word)
			case len(flags) == 0 && word == strings.ToLower(word) && !strings.ContainsAny(word, "/.,"):
				sub = append(sub, word)
			}
		}
		out, err := exec.Command(program.path(m[1]), append(sub, "--help")...).CombinedOutput()
		if err != nil {
			t.Errorf("%s: %v\n%s", m[0], err, out)
		}
		for _, f := range flags {
			if !regexp.MustCompile(regexp.QuoteMeta(f) + `\b`).Match(out) {
				t.Errorf("%s: no flag %s in\n%s", m[0], f, out)
			}
		}
	}
}

func mustRead(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	must(t, err)
	return string(b)
}

// split takes a command line apart at spaces outside single quotes.
func split(line string) []string {
	words := regexp.MustCompile(`'[^']*'|\S+`).FindAllString(line, -1)
	for i, w := range words {
		words[i] = strings.Trim(w, "'")
	}
	return words
}

// standIn answers like an engine that speaks OpenAI's API.
func standIn(t *testing.T) string {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/models", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"object":"list","data":[{"id":"stand-in"}]}`) // the agent asks again
	})
	mux.HandleFunc("GET /health", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("POST /v1/chat/completions", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"choices":[{"message":{"content":"Ahoy"}}],"usage":{"prompt_tokens":1,"completion_tokens":1}}`)
	})
	srv := httptest.NewServer(mux)
	t.Cleanup(srv.Close)
	return srv.URL
}

// reader follows the README.
type reader struct {
	t      *testing.T
	w      *world
	engine string
}

// run runs one line, and waits for a daemon in the background to be ready.
func (r *reader) run(words []string) {
	r.t.Helper()
	bin, args := strings.TrimPrefix(words[0], "bin/"), words[1:]
	background := args[len(args)-1] == "&"
	if background {
		args = args[:len(args)-1]
	}
	args = r.here(args)
	if background {
		if bin == "broker" {
			args = append(args, "--nats-port", strconv.Itoa(r.w.port))
		}
		r.w.daemon(bin, bin, args...).ready()
		return
	}
	p := start(r.t, bin, exec.Command(program.path(bin), args...), "FAIRLEAD_NATS_URL="+r.w.url)
	if args[0] == "record" {
		r.meanwhile(p)
	}
	if code := p.exit(); code != 0 {
		r.t.Fatalf("%v: exit code %d\n%s%s", words, code, p.out, p.log)
	}
	if want := map[string]string{"submit": "Ahoy", "status": "premium", "policy": "premium", "sim": "premium"}[args[0]]; !strings.Contains(p.out.String(), want) {
		r.t.Errorf("%v: no %q in\n%s", words, want, p.out)
	}
}

// meanwhile gives a recording something to record, and then ends it: how long the
// document lets it run is too short for a slow machine.
func (r *reader) meanwhile(recording *process) {
	r.t.Helper()
	recording.says("recording")
	ask := start(r.t, "submit", exec.Command(program.path("fairlead"), "submit", "--class", "premium", "--body", `{"max_tokens":4}`), "FAIRLEAD_NATS_URL="+r.w.url)
	if code := ask.exit(); code != 0 {
		r.t.Fatalf("submit: exit code %d\n%s", code, ask.log)
	}
	recording.signal(syscall.SIGINT)
}

// here puts this test's places in the place of the usual ones.
func (r *reader) here(args []string) []string {
	root, err := filepath.Abs("..")
	must(r.t, err)
	here := make([]string, len(args))
	for i, a := range args {
		switch {
		case a == "nats://127.0.0.1:4222":
			a = r.w.url
		case a == "http://127.0.0.1:8000":
			a = r.engine
		case a == "5s":
			a = "5m"
		case a == "recording.jsonl" || a == "charts":
			a = filepath.Join(r.w.dir, a)
		case strings.HasPrefix(a, "examples/"), strings.HasPrefix(a, "trace/"):
			a = filepath.Join(root, a)
		}
		here[i] = a
	}
	return here
}
