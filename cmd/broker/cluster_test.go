package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"
	"github.com/spf13/cobra"

	"fairlead/internal/store"
	"fairlead/wire"
)

const patience = 2 * time.Minute

// parse makes settings from a command line.
func parse(t *testing.T, args ...string) *settings {
	t.Helper()
	var s settings
	cmd := &cobra.Command{}
	s.addFlags(cmd)
	if err := cmd.Flags().Parse(args); err != nil {
		t.Fatal(err)
	}
	return &s
}

func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// TestClusterByFlags: the README's line on three machines makes one cluster, and
// streams with three replicas.
func TestClusterByFlags(t *testing.T) {
	routes := make([]string, 3)
	ports := make([]int, 3)
	for i := range routes {
		ports[i] = freePort(t)
		routes[i] = fmt.Sprintf("nats://127.0.0.1:%d", ports[i])
	}
	var conns []*nats.Conn
	for i := range routes {
		s := parse(t, "--name", fmt.Sprintf("b%d", i), "--cluster-name", "c", "--cluster-listen", strings.TrimPrefix(routes[i], "nats://"),
			"--routes", strings.Join(routes, ","), "--replicas", "3", "--nats-port", "0", "--store-dir", t.TempDir())
		if err := s.check(); err != nil {
			t.Fatal(err)
		}
		nc, _, closeNATS, err := connect(s, zerolog.Nop())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := closeNATS(); err != nil {
				t.Error(err)
			}
		})
		conns = append(conns, nc)
	}
	st, err := store.Open(conns[1], wire.Names{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for ready := false; !ready; { // a cluster that is not ready does not answer
		try, stop := context.WithTimeout(ctx, 3*time.Second)
		err = st.Ensure(try, store.Options{Replicas: 3})
		stop()
		if ready = err == nil; !ready && ctx.Err() != nil {
			t.Fatal(err)
		}
	}
	s, err := st.JS.Stream(ctx, "WORK")
	if err != nil {
		t.Fatal(err)
	}
	if info := s.CachedInfo(); info.Config.Replicas != 3 || len(info.Cluster.Replicas) != 2 {
		t.Fatalf("replicas %d, cluster %+v", info.Config.Replicas, info.Cluster)
	}
}

// TestNATSConfig: the file rules, authorization and all.
func TestNATSConfig(t *testing.T) {
	port := freePort(t)
	file := filepath.Join(t.TempDir(), "nats.conf")
	text := fmt.Sprintf("host: 127.0.0.1\nport: %d\nauthorization { token: secret }\n", port)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s := parse(t, "--nats-config", file, "--store-dir", t.TempDir(), "--nats-token", "secret")
	if err := s.check(); err != nil {
		t.Fatal(err)
	}
	nc, url, closeNATS, err := connect(s, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := closeNATS(); err != nil {
			t.Error(err)
		}
	}()
	if !strings.HasSuffix(url, fmt.Sprintf(":%d", port)) {
		t.Errorf("listens on %s, want port %d", url, port)
	}
	if err := nc.FlushTimeout(patience); err != nil {
		t.Errorf("our own connection: %v", err)
	}
	if stranger, err := nats.Connect(url); err == nil {
		stranger.Close()
		t.Error("a stranger without the token was let in")
	}
	if _, _, _, err := connect(parse(t, "--nats-config", "/nope.conf", "--store-dir", t.TempDir()), zerolog.Nop()); err == nil {
		t.Error("a configuration that is not there was taken")
	}
}

// TestCheck: settings that contradict each other name both.
func TestCheck(t *testing.T) {
	for _, c := range []struct {
		args  string
		words []string
	}{
		{"--nats-url nats://x:1 --store-dir d", []string{"--store-dir", "--nats-url"}},
		{"--nats-url nats://x:1 --nats-port 5", []string{"--nats-port", "--nats-url"}},
		{"--replicas 3", []string{"--replicas", "--cluster-name"}},
		{"--replicas 2", []string{"1, 3 or 5"}},
		{"--cluster-name c", []string{"--name", "--routes"}},
		{"--routes nats://x:1", []string{"--cluster-name"}},
		{"--cluster-name c --name b --routes nats://x:1 --cluster-listen here", []string{"--cluster-listen", "host:port"}},
		{"--nats-creds f", []string{"--nats-creds", "--nats-url"}},
		{"--dead-max-bytes 5", []string{"--dead-max-bytes", "1 MiB"}},
		{"--overload-kv 7", []string{"--overload-kv"}},
		{"--policy /nope.yaml", []string{"--policy", "/nope.yaml"}},
	} {
		err := parse(t, strings.Fields(c.args)...).check()
		if err == nil {
			t.Errorf("%s: taken", c.args)
			continue
		}
		for _, w := range c.words {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("%s: no word of %q in %q", c.args, w, err)
			}
		}
	}
}
