package system_test

import (
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"

	"fairlead/client"
)

// occupied is a port that somebody else has.
func occupied(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	t.Cleanup(func() { must(t, l.Close()) })
	_, port, err := net.SplitHostPort(l.Addr().String())
	must(t, err)
	return port
}

// once starts a program that is to fail, with environment variables in front.
func (w *world) once(bin string, env []string, args ...string) *process {
	w.t.Helper()
	cmd := exec.Command(program.path(bin), args...)
	cmd.Dir = w.dir
	return start(w.t, bin+" "+strings.Join(args, " "), cmd, env...)
}

func TestBrokerRefusesToStart(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	taken := occupied(t)
	file := w.file("a-file", "")
	bad := w.file("bad.yaml", strings.Replace(twoClasses, "quantum: 100", "quantum: -1", 1))
	free := func() string { return strconv.Itoa(freePort(t)) }
	for _, tc := range []struct {
		name  string
		args  []string
		words []string
	}{
		{"the port of NATS is taken", []string{"--http", "", "--nats-port", taken, "--store-dir", "s1"}, []string{taken, "address already in use"}},
		{"the port of HTTP is taken", []string{"--http", "127.0.0.1:" + taken, "--nats-port", free(), "--store-dir", "s2"}, []string{"--http", taken, "address already in use"}},
		{"the store is a file", []string{"--http", "", "--nats-port", free(), "--store-dir", file}, []string{"store folder", "a-file", "not a directory"}},
		{"the policy is bad", []string{"--policy", bad}, []string{"--policy", "bad.yaml:6", "quantum"}},
		{"the policy is absent", []string{"--policy", "absent.yaml"}, []string{"--policy", "absent.yaml", "no such file"}},
		{"a flag is misspelt", []string{"--store", "x"}, []string{"unknown flag: --store"}},
		{"an argument too many", []string{"start"}, []string{`unknown command "start"`}},
		{"a namespace with a dot", []string{"--namespace", "a.b"}, []string{"--namespace", `"a.b"`, "want"}},
		{"replicas without a cluster", []string{"--replicas", "3"}, []string{"--replicas", "--nats-url"}},
		{"a log level", []string{"--log-level", "loud"}, []string{`"loud"`, "want trace"}},
		{"a key of the file", []string{"--config", w.file("conf.yaml", "store_dir: x\n")}, []string{"conf.yaml", `unknown key "store_dir"`}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			(&world{t: t, dir: w.dir}).once("broker", nil, tc.args...).fails(1, tc.words...)
		})
	}
	w.once("broker", []string{"FAIRLEAD_NATS_PORT=many"}).fails(1, "FAIRLEAD_NATS_PORT", `"many"`, "--nats-port")
}

func TestAgentRefusesToStart(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, tc := range []struct {
		name  string
		args  []string
		words []string
	}{
		{"no worker id", []string{"--worker", ""}, []string{"worker", "want 1 to 64 characters"}},
		{"a worker id with a dot", []string{"--worker", "gpu.1"}, []string{`"gpu.1"`, "want 1 to 64 characters"}},
		{"an engine nobody knows", []string{"--worker", "w", "--engine", "vapour"}, []string{"--engine", `"vapour"`, "ollama, mock"}},
		{"an engine without a scheme", []string{"--worker", "w", "--engine-url", "host:80"}, []string{"host:80"}},
		{"a flag is misspelt", []string{"--slot", "3"}, []string{"unknown flag: --slot"}},
		{"no slots", []string{"--worker", "w", "--slots", "0"}, []string{"--slots 0"}},
		{"the port of HTTP is taken", []string{"--worker", "w", "--engine", "mock", "--http", "127.0.0.1:" + occupied(t)}, []string{"--http", "address already in use"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			(&world{t: t, dir: w.dir}).once("worker-agent", nil, tc.args...).fails(1, tc.words...)
		})
	}
}

func TestStoreIsUsedOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.broker().ready()
	second := w.once("broker", nil, "--http", "", "--nats-port", "0", "--store-dir", filepath.Join(w.dir, "store"))
	second.fails(1, "another broker uses the store folder", "--nats-url")
	if os.Geteuid() == 0 {
		return // nothing is read-only to root
	}
	must(t, os.Mkdir(filepath.Join(w.dir, "sealed"), 0o500))
	w.once("broker", nil, "--http", "", "--nats-port", "0", "--store-dir", "sealed").fails(1, "sealed", "permission denied")
}

// unready waits until a daemon says why it is not ready.
func (p *process) unready(words ...string) {
	p.t.Helper()
	eventually(p.t, p.name+" says why it is not ready", func() bool {
		code, text := p.probe("/readyz")
		for _, w := range words {
			if code != http.StatusServiceUnavailable || !strings.Contains(text, w) {
				return false
			}
		}
		return true
	})
	if code, _ := p.probe("/healthz"); code != http.StatusOK {
		p.t.Errorf("%s: /healthz is %d while it waits", p.name, code)
	}
}

// A broker and an agent that come before their server wait, say so, and begin
// when it is there; a broker before its agents and an agent before its broker
// are the same.
func TestStartInAnyOrder(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.agent("gpu-1")
	a.unready("NATS does not answer")
	b := w.standby("b1")
	b.unready("not connected to NATS", w.url)
	b.says("cannot reach NATS")
	a.says("cannot reach NATS")
	b.kill()
	w.external()
	a.unready("start a broker")
	w.standby("b1").ready()
	a.ready()
	w.result(w.ask(w.client(), client.Request{Body: []byte(`{"max_tokens":1}`)}))
}

func TestJetStreamIsOff(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	srv, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: w.port, NoLog: true, NoSigs: true})
	must(t, err)
	go srv.Start()
	t.Cleanup(func() { srv.Shutdown(); srv.WaitForShutdown() })
	if !srv.ReadyForConnections(patience) {
		t.Fatal("the server does not start")
	}
	a := w.agent("gpu-1")
	a.unready("JetStream")
	b := w.standby("b1")
	b.says("nats-server with -js")
}

func TestForeignStream(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.external()
	_, err := w.store().JS.CreateStream(t.Context(), jetstream.StreamConfig{Name: "REQ", Subjects: []string{"orders.>"}})
	must(t, err)
	w.standby("b1").fails(1, "stream REQ", "foreign configuration", "orders.>", "want", "namespace")
	w.daemon("broker ns", "broker", "--nats-url", w.url, "--namespace", "mine").ready()
}

func TestTwoAgentsOfOneName(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, agents := w.running("gpu-1")
	c := w.client()
	w.result(w.ask(c, client.Request{Body: []byte(`{"max_tokens":1}`)}))
	younger := w.agent("gpu-1")
	agents[0].fails(3, "superseded", "another agent with this worker id has started since")
	younger.ready()
	w.result(w.ask(c, client.Request{Body: []byte(`{"max_tokens":1}`)}))
	w.awaitEmpty(w.store())
	st, err := c.Status(t.Context())
	must(t, err)
	if len(st.Workers) != 1 || st.Workers[0].State != "ready" && st.Workers[0].State != "busy" {
		t.Errorf("workers %+v, want the younger alone", st.Workers)
	}
}
