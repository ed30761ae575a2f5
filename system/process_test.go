package system_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// transcript keeps what a process writes, and wakes whoever waits for it.
type transcript struct {
	mu   sync.Mutex // guards what follows
	text bytes.Buffer
	more chan struct{} // closed and replaced at every write
}

func newTranscript() *transcript { return &transcript{more: make(chan struct{})} }

// Write never fails.
func (l *transcript) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text.Write(p)
	close(l.more)
	l.more = make(chan struct{})
	return len(p), nil
}

func (l *transcript) read() (text string, more <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String(), l.more
}

func (l *transcript) String() string {
	text, _ := l.read()
	return text
}

// process is a child of the test. It does not outlive it.
type process struct {
	t        *testing.T
	name     string
	cmd      *exec.Cmd
	out, log *transcript // stdout and stderr
	ended    chan struct{}
	http     string // where its probes are, if anywhere
}

// start runs a program. Environment variables of ours do not reach it, unless
// the caller sets them.
func start(t *testing.T, name string, cmd *exec.Cmd, env ...string) *process {
	t.Helper()
	p := &process{t: t, name: name, cmd: cmd, out: newTranscript(), log: newTranscript(), ended: make(chan struct{})}
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "FAIRLEAD_") && !strings.HasPrefix(v, "NATS_") {
			cmd.Env = append(cmd.Env, v)
		}
	}
	cmd.Env = append(cmd.Env, env...)
	cmd.Stdout, cmd.Stderr = p.out, p.log
	if err := cmd.Start(); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	go func() {
		defer close(p.ended)
		var exit *exec.ExitError
		if err := cmd.Wait(); err != nil && !errors.As(err, &exit) {
			fmt.Fprintf(p.log, "wait: %v\n", err)
		}
	}()
	t.Cleanup(func() {
		p.kill()
		if t.Failed() {
			t.Logf("%s: exit code %d\n%s\n%s", name, p.cmd.ProcessState.ExitCode(), tail(p.out.String()), tail(p.log.String()))
		}
	})
	return p
}

// tail is the end of a text that may be long.
func tail(s string) string {
	const most = 20_000
	if len(s) > most {
		return "…" + s[len(s)-most:]
	}
	return s
}

// kill is kill -9: nothing of the process runs any more when it returns.
func (p *process) kill() {
	_ = p.cmd.Process.Kill() // fails when it has ended already
	<-p.ended
}

func (p *process) signal(sig syscall.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(sig); err != nil {
		p.t.Fatalf("%s: signal %v: %v", p.name, sig, err)
	}
}

// exit waits for the end and returns the exit code.
func (p *process) exit() int {
	p.t.Helper()
	select {
	case <-p.ended:
	case <-time.After(patience):
		p.t.Fatalf("%s does not end", p.name)
	}
	return p.cmd.ProcessState.ExitCode()
}

// says waits for a text on stderr.
func (p *process) says(text string) {
	p.t.Helper()
	p.writes(p.log, text)
}

// writes waits for a text on one of the two streams.
func (p *process) writes(to *transcript, text string) {
	p.t.Helper()
	late := time.After(patience)
	for {
		got, more := to.read()
		if strings.Contains(got, text) {
			return
		}
		select {
		case <-more:
		case <-p.ended:
			if !strings.Contains(to.String(), text) {
				p.t.Fatalf("%s ended without a word of %q", p.name, text)
			}
		case <-late:
			p.t.Fatalf("%s does not say %q", p.name, text)
		}
	}
}

// fails checks that the process ends with a code and says what helps.
func (p *process) fails(code int, words ...string) {
	p.t.Helper()
	if got := p.exit(); got != code {
		p.t.Errorf("%s: exit code %d, want %d", p.name, got, code)
	}
	for _, w := range words {
		if !strings.Contains(p.log.String(), w) {
			p.t.Errorf("%s does not say %q:\n%s", p.name, w, p.log)
		}
	}
}
