package system_test

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// patience is how long a test waits for what must happen.
const patience = 60 * time.Second

// binaries are the programs under test, built once.
type binaries struct {
	dir  string
	nats func() (string, error)
}

// program is set once, by TestMain, before any test runs.
var program binaries

func TestMain(m *testing.M) {
	flag.Parse()
	// Most of the time a test waits for leases and processes: two cores carry
	// more than two tests at once.
	if err := raise("test.parallel", "6"); err != nil {
		fail(err)
	}
	dir, err := os.MkdirTemp("", "fairlead-system-")
	if err != nil {
		fail(err)
	}
	program = binaries{dir: dir, nats: sync.OnceValues(func() (string, error) { return buildNATS(dir) })}
	code := 1
	if err := run("go", "build", "-o", dir+"/", "../cmd/broker", "../cmd/worker-agent", "../cmd/gateway", "../cmd/fairlead"); err != nil {
		fmt.Fprintln(os.Stderr, err)
	} else {
		code = m.Run()
	}
	if err := os.RemoveAll(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(code)
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// raise sets a flag that the command line has left open.
func raise(name, value string) error {
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == name })
	if given {
		return nil
	}
	return flag.Set(name, value)
}

func run(name string, args ...string) error {
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s %v: %w\n%s", name, args, err, out)
	}
	return nil
}

// buildNATS makes the nats command of the version that tools/go.mod pins. The
// one that make tools built from the same file is as good.
func buildNATS(dir string) (string, error) {
	built, err := filepath.Abs("../bin/tools/nats")
	if err != nil {
		return "", err
	}
	pinned, err := os.Stat("../tools/go.mod")
	if err != nil {
		return "", err
	}
	if info, err := os.Stat(built); err == nil && info.ModTime().After(pinned.ModTime()) {
		return built, nil
	}
	path := filepath.Join(dir, "nats")
	return path, run("go", "build", "-C", "../tools", "-o", path, "github.com/nats-io/natscli/nats")
}

// path is where one of our programs is.
func (b binaries) path(name string) string { return filepath.Join(b.dir, name) }
