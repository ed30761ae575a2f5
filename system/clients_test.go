package system_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// listing is the program of a language in docs/clients.md.
func listing(t *testing.T, language string) string {
	t.Helper()
	data, err := os.ReadFile("../docs/clients.md")
	must(t, err)
	_, rest, ok := strings.Cut(string(data), "\n```"+language+"\n")
	code, _, closed := strings.Cut(rest, "```\n")
	if !ok || !closed {
		t.Fatalf("docs/clients.md has no program in %s", language)
	}
	return code
}

// asks runs a program of the page to its end.
func (w *world) asks(code int, name string, args ...string) *process {
	w.t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = w.dir
	p := start(w.t, name, cmd)
	if got := p.exit(); got != code {
		w.t.Errorf("%s %v: exit code %d, want %d\n%s%s", name, args, got, code, p.out, p.log)
	}
	return p
}

func TestPythonFrontend(t *testing.T) {
	t.Parallel()
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("*** SKIPPED: there is no python3; the program of docs/clients.md is untested ***")
	}
	w := newWorld(t)
	w.running("gpu-1")
	file := w.file("ask.py", listing(t, "python"))
	p := w.asks(0, python, file, w.url, "interactive", "Hello")
	has(t, p.out.String(), "\n[32 tokens]\n")
	if words := strings.Fields(p.out.String()); len(words) < 32 {
		t.Errorf("%d words: %s", len(words), p.out)
	}
	p = w.asks(1, python, file, w.url, "inter.ac.tive", "Hello")
	has(t, p.log.String(), "ask.py: no stream takes it")
}

func TestCFrontend(t *testing.T) {
	t.Parallel()
	compiler, err := exec.LookPath("cc")
	if _, missing := os.Stat("/usr/include/nats/nats.h"); err != nil || missing != nil {
		t.Skip("*** SKIPPED: there is no C compiler, or no libnats-dev; the program of docs/clients.md is untested ***")
	}
	w := newWorld(t)
	bin := filepath.Join(w.dir, "ask")
	must(t, run(compiler, "-Wall", "-Wextra", "-Werror", "-o", bin, w.file("ask.c", listing(t, "c")), "-lnats"))
	w.running("gpu-1")
	p := w.asks(0, bin, w.url, "interactive", `{"stream":true,"max_tokens":5}`)
	has(t, p.out.String(), "chat.completion.chunk", `"output_tokens":5`)
	p = w.asks(0, bin, w.url, "interactive", `{"max_tokens":5}`)
	has(t, p.out.String(), `"object":"chat.completion"`, `"output_tokens":5`)
	p = w.asks(1, bin, w.url, "interactive", `not JSON`)
	has(t, p.log.String(), "ask: invalid_request: ")
}
