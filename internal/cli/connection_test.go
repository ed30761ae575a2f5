package cli_test

import (
	"context"
	"math/rand/v2"
	"net"
	"strconv"
	"strings"
	"testing"

	"github.com/nats-io/nats-server/v2/server"

	"fairlead/internal/store"
	"fairlead/wire"
)

// until is a stream of words that calls back when one of them is written.
type until struct {
	buffer
	word string
	then func()
}

func (u *until) Write(p []byte) (int, error) {
	n, err := u.buffer.Write(p)
	if then := u.then; then != nil && strings.Contains(u.String(), u.word) {
		u.then = nil
		then()
	}
	return n, err
}

// freePort finds a port below those that the kernel gives to clients: one that
// tries again and again on such a port may connect to itself.
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

// TestServerThatComesLater: a command waits for it, says so once, and goes on.
func TestServerThatComesLater(t *testing.T) {
	srv, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: freePort(t), JetStream: true, StoreDir: t.TempDir(), NoLog: true, NoSigs: true})
	must(t, err)
	t.Cleanup(func() { srv.Shutdown(); srv.WaitForShutdown() })
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	errs := &until{word: "refused", then: srv.Start}
	got := executeWith(ctx, errs, "", "await", "7", "--nats-url", srv.ClientURL(), "--connect-timeout", "2m", "--namespace", "green")
	if want := "waiting for " + srv.ClientURL() + ": connection refused\n"; !strings.HasPrefix(got.err, want) || strings.Count(got.err, "waiting") != 1 {
		t.Errorf("stderr %q, want once %q", got.err, want)
	}
	if got.code != 1 || !strings.Contains(got.err, "green_RES") {
		t.Errorf("%+v, want a word about the stream that is not there", got)
	}
}

// TestBrokerThatComesLater: the streams come while a command waits for them.
func TestBrokerThatComesLater(t *testing.T) {
	r := newRig(t)
	names, err := wire.NewNames("green")
	must(t, err)
	st, err := store.Open(r.store.NC, names)
	must(t, err)
	errs := &until{word: "waiting for a broker: ", then: func() { must(t, st.Ensure(r.ctx, store.Options{Memory: true})) }}
	got := executeWith(r.ctx, errs, "", "dead", "list", "--nats-url", r.url, "--namespace", "green", "--connect-timeout", "2m")
	if got.code != 0 || strings.Count(got.err, "waiting") != 1 {
		t.Errorf("%+v", got)
	}
	for _, args := range [][]string{{"dead", "list"}, {"policy", "history"}, {"policy", "explain", "7"}} {
		got := execute(r.ctx, "", append(args, "--nats-url", r.url, "--namespace", "red", "--connect-timeout", "0")...)
		if got.code != 1 || !strings.Contains(got.err, "is one running") || strings.Contains(got.err, "waiting") {
			t.Errorf("%v: %+v", args, got)
		}
	}
}

// TestImpatience: no patience tries once, patience has an end, and an interrupt ends it.
func TestImpatience(t *testing.T) {
	const nowhere, refused = "nats://ann:secret@127.0.0.1:1", "fairlead: connect to nats://ann:xxxxx@127.0.0.1:1: connection refused\n"
	if got, want := execute(t.Context(), "", "status", "--nats-url", nowhere, "--connect-timeout", "0"), (run{1, "", refused}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	want := run{1, "", "waiting for nats://ann:xxxxx@127.0.0.1:1: connection refused\n" + refused}
	if got := execute(t.Context(), "", "status", "--nats-url", nowhere, "--connect-timeout", "50ms"); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	errs := &until{word: "waiting", then: interrupt}
	if got := executeWith(ctx, errs, "", "status", "--nats-url", nowhere, "--connect-timeout", "2m"); got.code != 130 {
		t.Errorf("%+v, want the exit code of an interrupt", got)
	}
	if got := execute(t.Context(), "", "status", "--connect-timeout", "-1s"); got.code != 2 || !strings.Contains(got.err, "--connect-timeout -1s") {
		t.Errorf("%+v", got)
	}
}
