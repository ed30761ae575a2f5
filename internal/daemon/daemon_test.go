package daemon

import (
	"bytes"
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	code := m.Run()
	http.DefaultClient.CloseIdleConnections()
	if err := goleak.Find(goleak.IgnoreTopFunction("os/signal.signal_recv"), goleak.IgnoreAnyFunction("os/signal.loop")); err != nil {
		os.Stderr.WriteString(err.Error())
		code = 1
	}
	os.Exit(code)
}

func await(t *testing.T, what string, c <-chan struct{}) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(30 * time.Second):
		t.Fatal("waited in vain for " + what)
	}
}

func TestSignals(t *testing.T) {
	stop, abort, release := Signals(context.Background(), 0)
	defer release()
	if err := syscall.Kill(os.Getpid(), syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	await(t, "stop", stop.Done())
	if !errors.Is(context.Cause(stop), ErrStop) || abort.Err() != nil {
		t.Fatalf("after one signal: stop %v, abort %v", context.Cause(stop), abort.Err())
	}
	if err := syscall.Kill(os.Getpid(), syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	await(t, "abort", abort.Done())
	if !errors.Is(context.Cause(abort), ErrAbort) {
		t.Fatalf("after two signals: abort %v", context.Cause(abort))
	}
}

func TestGraceEndsInAbort(t *testing.T) {
	_, abort, release := Signals(context.Background(), time.Millisecond)
	defer release()
	if err := syscall.Kill(os.Getpid(), syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	await(t, "abort", abort.Done())
}

func TestReleaseAndParentEndBoth(t *testing.T) {
	stop, abort, release := Signals(context.Background(), time.Hour)
	release()
	release()
	await(t, "stop", stop.Done())
	await(t, "abort", abort.Done())
	parent, cancel := context.WithCancel(context.Background())
	stop, abort, release = Signals(parent, time.Hour)
	cancel()
	await(t, "stop", stop.Done())
	await(t, "abort", abort.Done())
	release()
}

func TestHTTP(t *testing.T) {
	ready := errors.New("no NATS")
	mux := Mux(Probes{
		Ready:   func() error { return ready },
		Metrics: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte("up 1")) }),
	})
	srv, err := Listen("127.0.0.1:0", mux)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Listen(srv.Addr(), mux); err == nil || !strings.Contains(err.Error(), "--http") {
		t.Errorf("the address was taken twice: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- srv.Run(ctx) }()
	check := func(path string) error { return Healthcheck(t.Context(), srv.Addr(), path) }
	if err := check("/healthz"); err != nil {
		t.Error(err)
	}
	if err := check("/metrics"); err != nil {
		t.Error(err)
	}
	if err := check("/readyz"); err == nil || err.Error() != "not ready: no NATS" {
		t.Errorf("got %v", err)
	}
	ready = nil
	if err := check("/readyz"); err != nil {
		t.Error(err)
	}
	if err := check("/debug/pprof/"); err == nil {
		t.Error("profiles are served unasked")
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if err := check("/healthz"); err == nil {
		t.Error("answers after its end")
	}
}

func TestServeHTTPWithoutAddress(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := ServeHTTP(ctx, "", nil); err != nil {
		t.Error(err)
	}
	if err := ServeHTTP(ctx, "no address", nil); err == nil {
		t.Error("served on no address")
	}
}

func TestCommands(t *testing.T) {
	srv, err := Listen(":0", Mux(Probes{PProf: true}))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go srv.Run(ctx)
	_, port, err := net.SplitHostPort(srv.Addr())
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	root := &cobra.Command{Use: "x", SilenceUsage: true, SilenceErrors: true}
	var name string
	root.AddCommand(VersionCommand(), HealthcheckCommand(), ConfigCommand(
		func(c *cobra.Command) { c.Flags().StringVar(&name, "name", "n", "a name") },
		func() error {
			if name == "bad" {
				return errors.New("name: bad")
			}
			return nil
		}))
	root.SetOut(&out)
	for _, tc := range []struct{ args, want, fails string }{
		{"version", "commit", ""},
		{"healthcheck --http :" + port, "", ""},
		{"healthcheck --http 127.0.0.1:1", "", "refused"},
		{"healthcheck --http nowhere", "", "want host:port"},
		{"config --name ada", "name: ada", ""},
		{"config --name bad", "", "name: bad"},
	} {
		out.Reset()
		root.SetArgs(strings.Fields(tc.args))
		err := root.ExecuteContext(t.Context())
		if (err == nil) != (tc.fails == "") || err != nil && !strings.Contains(err.Error(), tc.fails) || !strings.Contains(out.String(), tc.want) {
			t.Errorf("%s: got %q, %v", tc.args, out.String(), err)
		}
	}
}
