package system_test

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"fairlead/client"
	"fairlead/internal/store"
	"fairlead/wire"
)

// world is a folder, a port, and the programs that live there.
type world struct {
	t      *testing.T
	dir    string
	port   int    // of NATS
	url    string // of NATS
	policy string // file
}

const twoClasses = `
default_policy_family: interactive
uncached_isl_buckets: [{min_tokens: 0, bucket: all}]
policy_classes:
  - {name: interactive, policy_family: interactive, cache_bucket: all, quantum: 400}
  - {name: batch, policy_family: batch, cache_bucket: all, quantum: 100}
`

func newWorld(t *testing.T) *world {
	t.Helper()
	port := freePort(t)
	w := &world{t: t, dir: t.TempDir(), port: port, url: fmt.Sprintf("nats://127.0.0.1:%d", port)}
	w.policy = w.file("policy.yaml", twoClasses)
	return w
}

// file writes a file into the world's folder.
func (w *world) file(name, text string) string {
	w.t.Helper()
	path := filepath.Join(w.dir, name)
	must(w.t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// freePort finds a port below those that the kernel gives to clients: a client
// that tries again and again to reach a dead server on such a port would one
// day connect to itself.
func freePort(t *testing.T) int {
	t.Helper()
	for range 100 {
		port := 10_000 + rand.IntN(20_000)
		l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err == nil {
			must(t, l.Close())
			return port
		}
	}
	t.Fatal("no free port")
	return 0
}

// daemon starts one of our programs with its probes on a free port.
func (w *world) daemon(name, bin string, args ...string) *process {
	w.t.Helper()
	addr := net.JoinHostPort("127.0.0.1", strconv.Itoa(freePort(w.t)))
	cmd := exec.Command(program.path(bin), append([]string{"--http", addr}, args...)...)
	cmd.Dir = w.dir
	p := start(w.t, name, cmd)
	p.http = "http://" + addr
	return p
}

// broker starts one with NATS inside, always on the same store and port.
func (w *world) broker(args ...string) *process {
	w.t.Helper()
	own := []string{"--name", "b1", "--nats-port", strconv.Itoa(w.port), "--store-dir", filepath.Join(w.dir, "store"), "--policy", w.policy}
	return w.daemon("broker", "broker", append(own, args...)...)
}

// agent starts one whose engine needs a few milliseconds for a token.
func (w *world) agent(worker string, args ...string) *process {
	w.t.Helper()
	own := []string{"--nats-url", w.url, "--worker", worker, "--engine", "mock", "--mock-token-time", "10ms", "--mock-prefill-rate", "1e6"}
	return w.daemon("agent "+worker, "worker-agent", append(own, args...)...)
}

// running starts a broker and agents and waits until all of them are ready.
func (w *world) running(workers ...string) (*process, []*process) {
	w.t.Helper()
	b := w.broker()
	b.ready()
	agents := make([]*process, len(workers))
	for i, k := range workers {
		agents[i] = w.agent(k)
	}
	for _, a := range agents {
		a.ready()
	}
	return b, agents
}

// probe asks a daemon for one of its pages.
func (p *process) probe(path string) (code int, text string) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.http+path, http.NoBody)
	must(p.t, err)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err.Error()
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	must(p.t, err)
	return resp.StatusCode, string(body)
}

// ready waits until the daemon says that it is.
func (p *process) ready() {
	p.t.Helper()
	var last string
	p.t.Cleanup(func() {
		if p.t.Failed() {
			p.t.Logf("%s: last asked whether it is ready, it said %q", p.name, last)
		}
	})
	eventually(p.t, p.name+" is ready", func() bool {
		select {
		case <-p.ended:
			p.t.Fatalf("%s has ended", p.name)
		default:
		}
		code, text := p.probe("/readyz")
		last = text
		return code == http.StatusOK
	})
}

// eventually waits for what another process brings about and nobody signals.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	late := time.After(patience)
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	for !ok() {
		select {
		case <-late:
			t.Fatalf("%s: not so after %v", what, patience)
		case <-look.C:
		}
	}
}

func (w *world) connect() *nats.Conn {
	w.t.Helper()
	quiet := nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}) // servers die here on purpose
	nc, err := nats.Connect(w.url, append(store.Reconnect("system test"), quiet)...)
	must(w.t, err)
	w.t.Cleanup(nc.Close)
	return nc
}

func (w *world) store() *store.Store {
	w.t.Helper()
	st, err := store.Open(w.connect(), wire.Names{})
	must(w.t, err)
	return st
}

func (w *world) client() *client.Client {
	w.t.Helper()
	c, err := client.New(w.connect(), client.Config{})
	must(w.t, err)
	w.t.Cleanup(c.Close)
	return c
}

// awaitEmpty waits until nothing is left of any request.
func (w *world) awaitEmpty(st *store.Store) {
	w.t.Helper()
	ctx := w.t.Context()
	for _, name := range []string{st.Names.StreamREQ(), st.Names.StreamDONE()} {
		eventually(w.t, name+" is empty", func() bool {
			r, err := st.Range(ctx, name)
			return err == nil && r.Messages == 0
		})
	}
	for _, filter := range []string{"work.>", "verdict.>"} {
		eventually(w.t, filter+" is empty", func() bool {
			s, err := st.JS.Stream(ctx, st.Names.StreamWORK())
			if err != nil {
				return false
			}
			info, err := s.Info(ctx, jetstream.WithSubjectFilter(filter))
			return err == nil && len(info.State.Subjects) == 0
		})
	}
}
