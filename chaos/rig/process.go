package rig

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Process is a child of which there is at most one at a time: it can be killed,
// frozen, stopped and started again. It is safe for concurrent use.
type Process struct {
	Name string
	HTTP string // where its probes are, "" nowhere
	log  string // file that its output is added to
	argv []string

	mu    sync.Mutex // guards what follows
	cmd   *exec.Cmd
	ended chan struct{}
}

func newProcess(dir, name string, argv ...string) *Process {
	return &Process{Name: name, log: filepath.Join(dir, strings.ReplaceAll(name, " ", "-")+".log"), argv: argv}
}

// Start runs the program with further arguments. One that still runs is an error.
func (p *Process) Start(more ...string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cmd != nil && !over(p.ended) {
		return fmt.Errorf("start %s: it runs", p.Name)
	}
	out, err := os.OpenFile(p.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("start %s: %w", p.Name, err)
	}
	defer out.Close()
	args := append(append([]string{}, p.argv[1:]...), more...)
	cmd := exec.Command(p.argv[0], args...) //nolint:noctx // it is to survive whatever the caller gives up
	cmd.Env = cleanEnv()
	cmd.Stdout, cmd.Stderr = out, out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w", p.Name, err)
	}
	fmt.Fprintf(out, "-- %s starts, pid %d, %v\n", time.Now().UTC().Format(time.RFC3339Nano), cmd.Process.Pid, more)
	p.cmd, p.ended = cmd, make(chan struct{})
	go wait(cmd, p.ended)
	return nil
}

func wait(cmd *exec.Cmd, ended chan struct{}) {
	_ = cmd.Wait() // the exit code is in ProcessState
	close(ended)
}

// cleanEnv is the environment without settings of ours.
func cleanEnv() (env []string) {
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "FAIRLEAD_") && !strings.HasPrefix(v, "NATS_") {
			env = append(env, v)
		}
	}
	return env
}

func over(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// Running reports whether the child lives.
func (p *Process) Running() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.cmd != nil && !over(p.ended)
}

func (p *Process) signal(sig syscall.Signal) <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cmd == nil {
		ended := make(chan struct{})
		close(ended)
		return ended
	}
	_ = p.cmd.Process.Signal(sig) // fails when it has ended already
	return p.ended
}

// Kill is kill -9: nothing of the child runs any more when it returns.
func (p *Process) Kill() { <-p.signal(syscall.SIGKILL) }

// Freeze stops the child where it stands.
func (p *Process) Freeze() { p.signal(syscall.SIGSTOP) }

// Thaw lets a frozen child go on.
func (p *Process) Thaw() { p.signal(syscall.SIGCONT) }

// errStuck says that a child did not end when it was asked to.
var errStuck = errors.New("does not end")

// Stop asks the child to end and returns its exit code. One that does not is
// killed after the patience.
func (p *Process) Stop(patience time.Duration) (code int, err error) {
	ended := p.signal(syscall.SIGTERM)
	return p.Exit(ended, patience)
}

// Exit waits for the child's own end.
func (p *Process) Exit(ended <-chan struct{}, patience time.Duration) (code int, err error) {
	select {
	case <-ended:
	case <-time.After(patience):
		p.signal(syscall.SIGQUIT) // leaves the stacks in the log
		select {
		case <-ended:
		case <-time.After(5 * time.Second):
			p.Kill()
		}
		return -1, fmt.Errorf("%s: %w within %v", p.Name, errStuck, patience)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cmd == nil {
		return 0, nil
	}
	return p.cmd.ProcessState.ExitCode(), nil
}

// Ended is closed when the child that runs now has ended.
func (p *Process) Ended() <-chan struct{} { return p.signal(syscall.Signal(0)) }

func (p *Process) everRan() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.cmd != nil
}
