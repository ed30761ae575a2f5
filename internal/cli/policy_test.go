package cli_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"fairlead/broker"
	"fairlead/internal/store"
	"fairlead/internal/storedpolicy"
	"fairlead/wire"
)

// policyLeader answers as a leader that follows the store does. It refuses the
// version that refused holds.
func (r *rig) policyLeader(refused *atomic.Uint64) {
	r.leader("blue.ctl.status", func(string) any {
		st := wire.BrokerStatus{Leader: "b1", Policy: wire.PolicyStatus{Source: wire.PolicyFile, File: "own.yaml"}}
		last, err := r.store.LeaderLast(r.ctx, r.store.Names.StreamPOLICY(), r.store.Names.Policy())
		if err != nil {
			return st
		}
		v := storedpolicy.Read(last)
		st.Policy.Read = v.Seq
		switch {
		case refused.Load() != 0:
			st.Policy.Refused, st.Policy.Error = v.Seq, "a field from the future"
		case !v.Drop():
			st.Policy = wire.PolicyStatus{Source: wire.PolicyStored, Version: v.Seq, File: v.File, Author: v.Author, Read: v.Seq}
		}
		return st
	})
}

const (
	policyOne = "placement: random\n"
	policyTwo = "placement: round_robin\n"
)

// TestStoredPolicy goes through a policy's life: applied, replaced, restored, dropped.
func TestStoredPolicy(t *testing.T) {
	r := newRig(t)
	var refused atomic.Uint64
	r.policyLeader(&refused)
	dir := t.TempDir()
	write := func(name, body string) string {
		path := filepath.Join(dir, name)
		must(t, os.WriteFile(path, []byte(body), 0o600))
		return path
	}
	apply := func(args ...string) string {
		t.Helper()
		got := r.run(policyTwo, append([]string{"policy"}, args...)...)
		if got.code != 0 || got.err != "in force, says leader b1\n" {
			t.Fatalf("%v: %+v", args, got)
		}
		return strings.TrimSpace(got.out)
	}
	one := apply("apply", write("one.yaml", policyOne))
	two := apply("apply", "-")
	three := apply("restore", one)
	if got := r.run("", "policy", "show"); got.code != 0 || got.out != policyOne || !strings.Contains(got.err, "version "+three) ||
		!strings.Contains(got.err, "restores "+one) || !strings.Contains(got.err, "@") {
		t.Errorf("show: %+v", got)
	}
	if got := r.run("", "policy", "show", two); got.code != 0 || got.out != policyTwo {
		t.Errorf("show %s: %+v", two, got)
	}
	got := r.run("", "policy", "drop")
	if got.code != 0 || got.err != "policy: own.yaml, says leader b1\n" {
		t.Errorf("drop: %+v", got)
	}
	four := strings.TrimSpace(got.out)
	lines := strings.Split(r.run("", "policy", "history").out, "\n")
	for i, parts := range [][]string{{"VERSION", "BY", "NOTE"}, {one, "one.yaml"}, {two, "stdin"}, {three, "one.yaml", "restores " + one}, {four, "dropped"}} {
		for _, part := range parts {
			if !strings.Contains(lines[i], part) {
				t.Errorf("history, line %d: %q lacks %q", i, lines[i], part)
			}
		}
	}
	if got := r.run("", "policy", "history", "--json"); strings.Count(got.out, "\n") != 4 || !strings.Contains(got.out, `"restores":`+one) {
		t.Errorf("history as JSON: %+v", got)
	}
	refused.Store(1)
	if got := r.run("", "policy", "restore", two); got.code != 3 || !strings.Contains(got.err, "from the future") || !strings.Contains(got.err, "b1") {
		t.Errorf("refused by the leader: %+v", got)
	}
	for _, c := range []struct{ version, says string }{{four, "policy drop"}, {"7", "policy history"}} {
		if got := r.run("", "policy", "restore", c.version); got.code != 3 || !strings.Contains(got.err, c.says) {
			t.Errorf("restore %s: %+v", c.version, got)
		}
	}
	if got := r.run("", "policy", "restore", "x"); got.code != 2 || !strings.Contains(got.err, `"x"`) {
		t.Errorf("restore x: %+v", got)
	}
}

// TestNoStoredPolicy: what is wrong stores nothing, and nothing stored is said so.
func TestNoStoredPolicy(t *testing.T) {
	r := newRig(t)
	if got := r.run("placement: x\n", "policy", "apply", "-"); got.code != 1 || !strings.Contains(got.err, "placement") {
		t.Errorf("a bad policy: %+v", got)
	}
	if got := r.run("", "policy", "apply", "-"); got.code != 1 || got.out != "" {
		t.Errorf("an empty policy: %+v", got)
	}
	if got := r.run("", "policy", "apply", "no-such.yaml"); got.code != 1 || !strings.Contains(got.err, "no-such.yaml") {
		t.Errorf("no file: %+v", got)
	}
	if got := r.run("", "policy", "show"); got.code != 3 || !strings.Contains(got.err, "no policy is stored") {
		t.Errorf("show: %+v", got)
	}
	if got := r.run("", "policy", "history"); got.code != 0 || strings.Count(got.out, "\n") != 1 {
		t.Errorf("history: %+v", got)
	}
	doubtful := filepath.Join("..", "..", "policy", "testdata", "warn", "zero.yaml")
	if got := r.run("", "policy", "apply", doubtful); got.code != 0 || !strings.Contains(got.err, "no leader") || !strings.Contains(got.err, "warning: "+doubtful) {
		t.Errorf("a doubtful policy, without a leader: %+v", got)
	}
	must(t, r.store.JS.DeleteStream(r.ctx, r.store.Names.StreamPOLICY()))
	t.Setenv("FAIRLEAD_CONNECT_TIMEOUT", "0")
	for _, args := range [][]string{{"policy", "history"}, {"policy", "apply", "-"}} {
		if got := r.run(policyOne, args...); got.code != 1 || !strings.Contains(got.err, "blue_POLICY") || !strings.Contains(got.err, "broker") {
			t.Errorf("%v without a stream: %+v", args, got)
		}
	}
}

// TestApplyToABroker is the same conversation with a broker.
func TestApplyToABroker(t *testing.T) {
	r := newRig(t)
	b, err := broker.New(broker.Config{Conn: r.store.NC, Name: "b1", Names: r.store.Names, Streams: store.Options{Memory: true}})
	must(t, err)
	ctx, stop := context.WithCancel(r.ctx)
	ended := make(chan error, 1)
	go func() { ended <- b.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		must(t, <-ended)
	})
	if got := r.run(policyOne, "policy", "apply", "-"); got.code != 0 || got.err != "in force, says leader b1\n" {
		t.Errorf("apply: %+v", got)
	}
	if got := r.run("", "status"); !strings.Contains(got.out, "policy: stored version") || !strings.Contains(got.out, "stdin") {
		t.Errorf("status: %+v", got)
	}
	if got := r.run("", "policy", "drop"); got.code != 0 || got.err != "policy: the default, for want of a file, says leader b1\n" {
		t.Errorf("drop: %+v", got)
	}
}
