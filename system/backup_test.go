package system_test

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"fairlead/client"
)

// loops are the lines of docs/operations.md that back up and restore, for a server
// without accounts.
func loops(t *testing.T) (backup, restore string) {
	t.Helper()
	data, err := os.ReadFile("../docs/operations.md")
	must(t, err)
	found := regexp.MustCompile(`(?m)^for s in .*done$`).FindAllString(string(data), -1)
	if len(found) != 2 || !strings.Contains(found[1], "restore") {
		t.Fatalf("docs/operations.md has the loops %q; want one to back up and one to restore", found)
	}
	plain := func(line string) string { return strings.ReplaceAll(line, " --inbox-prefix _INBOX.ann", "") }
	return plain(found[0]), plain(found[1])
}

// leave ends a program in order.
func (p *process) leave() {
	p.t.Helper()
	p.signal(syscall.SIGTERM)
	if code := p.exit(); code != 0 {
		p.t.Fatalf("%s: exit code %d\n%s", p.name, code, p.log)
	}
}

// TestBackupAndRestore: what was asked, and what had ended, comes back in another NATS
// by the lines of docs/operations.md.
func TestBackupAndRestore(t *testing.T) {
	t.Parallel()
	w, other := newWorld(t), newWorld(t)
	w.external()
	other.external()
	backup, restore := loops(t)
	s := w.shell()
	sh := func(url, line string) {
		t.Helper()
		cmd := exec.Command("sh", "-ec", line)
		cmd.Dir = w.dir
		p := start(t, line, cmd, "NATS_URL="+url, "XDG_CONFIG_HOME="+s.dir, "HOME="+s.dir, "PATH="+s.bin+":"+os.Getenv("PATH"))
		if code := p.exit(); code != 0 {
			t.Fatalf("%s: exit code %d\n%s%s", line, code, p.out, p.log)
		}
	}
	w.standby("b1").ready()
	a := w.agent("gpu-1")
	a.ready()
	c, err := client.Connect(w.url, client.Config{})
	must(t, err)
	ask := func() uint64 {
		t.Helper()
		p, err := c.Submit(t.Context(), client.Request{Class: "batch", Body: []byte(`{"max_tokens":3}`), Stored: true})
		must(t, err)
		return p.ID
	}
	ended := ask()
	done, err := c.Await(t.Context(), ended)
	must(t, err)
	_, err = done.Result(t.Context())
	must(t, err)
	a.leave()
	waits := []uint64{ask(), ask()}
	sh(w.url, backup)
	c.Close()

	sh(other.url, restore)
	other.standby("b2").ready()
	other.agent("gpu-1").ready()
	c, err = client.Connect(other.url, client.Config{})
	must(t, err)
	defer c.Close()
	for _, id := range append(waits, ended) {
		p, err := c.Await(t.Context(), id)
		must(t, err)
		if res, err := p.Result(t.Context()); err != nil || len(res.Body) == 0 {
			t.Errorf("request %d: %v", id, err)
		}
	}
	if later := ask(); later <= waits[1] {
		t.Errorf("the id %d was used before", later)
	}
}
