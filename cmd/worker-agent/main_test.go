package main

import (
	"bytes"
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"go.uber.org/goleak"

	"fairlead/internal/daemon"
	"fairlead/internal/store"
	"fairlead/wire"
)

const (
	patience = 30 * time.Second
	// actAsMain makes this test binary the program itself.
	actAsMain = "WORKER_AGENT_TEST_MAIN"
)

func TestMain(m *testing.M) {
	if os.Getenv(actAsMain) != "" {
		main()
		return
	}
	goleak.VerifyTestMain(m)
}

// world is a real server with the streams.
type world struct {
	srv   *server.Server
	st    *store.Store
	beats chan *wire.Heartbeat
	dones chan *wire.Done
}

func newWorld(t *testing.T) *world {
	t.Helper()
	srv, err := server.NewServer(&server.Options{
		Host: "127.0.0.1", Port: -1, JetStream: true, StoreDir: t.TempDir(), NoLog: true, NoSigs: true,
	})
	must(t, err)
	go srv.Start()
	t.Cleanup(func() { srv.Shutdown(); srv.WaitForShutdown() })
	if !srv.ReadyForConnections(patience) {
		t.Fatal("the server does not start")
	}
	nc, err := nats.Connect(srv.ClientURL())
	must(t, err)
	t.Cleanup(nc.Close)
	names, err := wire.NewNames("ns")
	must(t, err)
	st, err := store.Open(nc, names)
	must(t, err)
	must(t, st.Ensure(t.Context(), store.Options{}))
	w := &world{srv: srv, st: st, beats: make(chan *wire.Heartbeat, 10_000), dones: make(chan *wire.Done, 100)}
	listen(t, nc, names.Load("w1"), w.beats, func(data []byte, h *wire.Heartbeat) error { return wire.Decode(data, h) })
	listen(t, nc, names.Done("w1"), w.dones, func(data []byte, d *wire.Done) error { return wire.Decode(data, d) })
	must(t, nc.Flush())
	return w
}

func listen[T any](t *testing.T, nc *nats.Conn, subject string, to chan *T, decode func([]byte, *T) error) {
	t.Helper()
	_, err := nc.Subscribe(subject, func(m *nats.Msg) {
		v := new(T)
		if err := decode(m.Data, v); err != nil {
			t.Error(err)
		}
		to <- v
	})
	must(t, err)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func receive[T any](t *testing.T, what string, from <-chan T, ok func(T) bool) T {
	t.Helper()
	late := time.After(patience)
	for {
		select {
		case v := <-from:
			if ok == nil || ok(v) {
				return v
			}
		case <-late:
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

func ready(h *wire.Heartbeat) bool { return h.Healthy && len(h.Models) > 0 && !h.Draining }

// hand asks for a completion of one token and hands it to an incarnation.
func (w *world) hand(t *testing.T, incarnation uint64) {
	t.Helper()
	m := nats.NewMsg(w.st.Names.Req("chat"))
	m.Data = []byte(`{"max_tokens":1}`)
	ack, err := w.st.JS.PublishMsg(t.Context(), m)
	must(t, err)
	claim := wire.Claim{ID: ack.Sequence, Attempt: 1, Class: "chat"}
	_, err = w.st.JS.Publish(t.Context(), w.st.Names.Work("w1", incarnation), wire.Encode(&claim))
	must(t, err)
}

// child starts the program as a process of its own.
func (w *world) child(t *testing.T, args ...string) (*exec.Cmd, *bytes.Buffer) {
	t.Helper()
	args = append([]string{"--nats-url", w.srv.ClientURL(), "--namespace", "ns", "--worker", "w1", "--engine", "mock", "--http", ""}, args...)
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), actAsMain+"=1")
	var log bytes.Buffer
	cmd.Stderr = &log
	must(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill() }) // fails when it has ended, as it should have
	return cmd, &log
}

// wait returns the exit code of a child.
func wait(t *testing.T, cmd *exec.Cmd) int {
	t.Helper()
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	err := receive(t, "the end of the process", ended, nil)
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode()
}

func TestSigtermDrains(t *testing.T) {
	w := newWorld(t)
	cmd, log := w.child(t, "--mock-token-time", "300ms")
	h := receive(t, "a ready heartbeat", w.beats, ready)
	w.hand(t, h.Incarnation)
	receive(t, "a claim in the engine", w.beats, func(h *wire.Heartbeat) bool { return h.Active == 1 })
	must(t, cmd.Process.Signal(syscall.SIGTERM))
	if d := receive(t, "a DONE", w.dones, nil); d.Status != wire.StatusOK || d.Usage.Output != 1 {
		t.Errorf("DONE %+v, want it finished", d)
	}
	if code := wait(t, cmd); code != 0 {
		t.Errorf("exit code %d\n%s", code, log)
	}
	if !strings.Contains(log.String(), `"message":"left"`) {
		t.Errorf("log is not JSON, or does not say goodbye:\n%s", log)
	}
}

func TestSecondSignalAborts(t *testing.T) {
	w := newWorld(t)
	cmd, log := w.child(t, "--mock-fail", "hang@1")
	h := receive(t, "a ready heartbeat", w.beats, ready)
	w.hand(t, h.Incarnation)
	receive(t, "a claim in the engine", w.beats, func(h *wire.Heartbeat) bool { return h.Active == 1 })
	must(t, cmd.Process.Signal(syscall.SIGTERM))
	receive(t, "a draining heartbeat", w.beats, func(h *wire.Heartbeat) bool { return h.Draining && h.Active == 1 })
	must(t, cmd.Process.Signal(syscall.SIGTERM))
	if d := receive(t, "a DONE", w.dones, nil); d.Status != wire.StatusReturned {
		t.Errorf("DONE %+v, want it given back", d)
	}
	if code := wait(t, cmd); code != 0 {
		t.Errorf("exit code %d\n%s", code, log)
	}
}

func TestSupersededHasItsOwnExitCode(t *testing.T) {
	w := newWorld(t)
	cmd, log := w.child(t)
	h := receive(t, "a ready heartbeat", w.beats, ready)
	stop := wire.Command{Kind: wire.CommandStop, Epoch: 1, Reason: "newer"}
	must(t, w.st.NC.Publish(w.st.Names.Agent("w1", h.Incarnation), wire.Encode(&stop)))
	if code := wait(t, cmd); code != exitSuperseded || !strings.Contains(log.String(), "superseded") {
		t.Errorf("exit code %d, want %d\n%s", code, exitSuperseded, log)
	}
}

func TestProbesAndMetrics(t *testing.T) {
	w := newWorld(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	addr := l.Addr().String()
	must(t, l.Close())
	ctx, cancel := context.WithCancel(t.Context())
	cmd := newCommand()
	var log bytes.Buffer
	cmd.SetErr(&log)
	cmd.SetArgs([]string{"--nats-url", w.srv.ClientURL(), "--namespace", "ns", "--worker", "w1", "--engine", "mock", "--http", addr})
	ended := make(chan error, 1)
	go func() { ended <- cmd.ExecuteContext(ctx) }()
	h := receive(t, "a ready heartbeat", w.beats, ready)
	if h.MaxBatched != 2048 || h.Speed != 20_000 || h.Slots != 8 {
		t.Errorf("heartbeat %+v, want what a mock knows of itself", h)
	}
	w.hand(t, h.Incarnation)
	receive(t, "a DONE", w.dones, nil)
	receive(t, "an idle heartbeat", w.beats, func(h *wire.Heartbeat) bool { return len(h.InFlight) == 0 && h.Seq > 2 })
	must(t, daemon.Healthcheck(t.Context(), addr, "/readyz"))
	defer http.DefaultClient.CloseIdleConnections()
	resp, err := http.Get("http://" + addr + "/metrics")
	must(t, err)
	defer resp.Body.Close()
	var text bytes.Buffer
	_, err = text.ReadFrom(resp.Body)
	must(t, err)
	for _, want := range []string{
		`fairlead_agent_requests_total{reason="",status="ok"} 1`, `fairlead_agent_tokens_total{kind="output"} 1`,
		"fairlead_agent_in_flight 0", "fairlead_agent_first_token_seconds_count 1", "go_goroutines",
	} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("metrics lack %s", want)
		}
	}
	cancel()
	must(t, receive(t, "the end", ended, nil))
}

func TestConfigCommand(t *testing.T) {
	for _, tc := range []struct{ args, want, fails string }{
		{"--worker w --engine mock --mock-fail die=0.5,refuse@3", "mock-fail: [die=0.5, refuse@3] # --mock-fail", ""},
		{"--worker w --engine-api-key secret", "engine-api-key: <hidden>", ""},
		{"--worker w --namespace a.b", "", "namespace \"a.b\""},
		{"--worker a.b", "", "worker \"a.b\""},
		{"--worker w --engine vapour", "", "--engine \"vapour\": want one of auto, openai, vllm, "},
		{"--worker w --engine-url host:80", "", "url: \"host:80\""},
		{"--worker w --engine mock --mock-fail burn@1", "", "unknown kind"},
		{"--worker w --engine mock --mock-jitter 3", "", "jitter: 3"},
		{"--worker w --slots 0", "", "--slots 0"},
	} {
		cmd := newCommand()
		var out bytes.Buffer
		cmd.SetOut(&out)
		cmd.SetArgs(append([]string{"config"}, strings.Fields(tc.args)...))
		err := cmd.Execute()
		if (err == nil) != (tc.fails == "") || err != nil && !strings.Contains(err.Error(), tc.fails) || !strings.Contains(out.String(), tc.want) {
			t.Errorf("%s: got %v\n%s", tc.args, err, &out)
		}
	}
}
