package cli_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead/wire"
)

func TestStatus(t *testing.T) {
	r := newRig(t)
	r.leader("blue.ctl.status", func(body string) any {
		if body == `{"ids":[7,8]}` {
			return wire.BrokerStatus{Recovered: true, Requests: []wire.RequestStatus{
				{ID: 7, State: wire.StateRunning, Class: "a", Model: "m", Attempt: 2, Worker: "gpu-1", WaitMS: 1234},
				{ID: 8, State: wire.StateEnded},
			}}
		}
		return wire.BrokerStatus{
			Leader: "b1", Epoch: 3,
			Policy:  wire.PolicyStatus{Source: wire.PolicyStored, Version: 7, File: "p.yaml", Author: "ann@ops", Read: 8, Refused: 8, Error: "p.yaml:1:1: nonsense"},
			Classes: []wire.ClassStatus{{Model: "m", Class: "a", Queued: 4, QueuedTokens: 2048, OldestWaitMS: 61500, Running: 1, Completed: 9, Share: 0.75, Entitlement: 0.8, Deficit: -5, Quantum: 512, Lanes: 2, SharedTokens: 2000, DispatchedTokens: 2500, Dispatched: 25, Tenants: 3, Jain: 0.9871}, {Model: "n", Class: "a", Share: 0.5, Entitlement: 0.8, SharedTokens: 1900, DispatchedTokens: 2500, Dispatched: 25}},
			Workers: []wire.WorkerStatus{{Worker: "gpu-1", State: "ready", Models: []string{"m"}, Ranks: 1, Slots: 4, Used: 1, PrefillTokens: 512, LastSeenMS: 40}},
		}
	})
	got := r.run("", "status")
	want := `leader b1, epoch 3, still reading what its predecessor left
policy: stored version 7 (p.yaml, by ann@ops)
version 8 is stored and cannot be served by this leader: p.yaml:1:1: nonsense

model m
CLASS  QUEUED  TOKENS  OLDEST  RUNNING  DONE  FAILED  SHARE   DUE
a      4       2048    1m2s    1        9     0       75.0 %  80.0 %

model n
CLASS  QUEUED  TOKENS  OLDEST  RUNNING  DONE  FAILED  SHARE  DUE
a      0       0       0s      0        0     0       -      80.0 %

WORKER  STATE  SLOTS  PREFILL TOKENS  RANKS  SEEN    MODELS
gpu-1   ready  1/4    512             1      0s ago  m
`
	if diff := cmp.Diff(run{0, want, ""}, got, cmp.AllowUnexported(run{})); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	got = r.run("", "status", "7", "8")
	want = `ID  STATE    CLASS  MODEL  ATTEMPT  WORKER  WAIT
7   running  a      m      2        gpu-1   1.2s
8   ended    -      -      -        -       -
`
	if diff := cmp.Diff(run{0, want, ""}, got, cmp.AllowUnexported(run{})); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	got = r.run("", "status", "--wide")
	want = `MODEL  CLASS  QUEUED  TOKENS  OLDEST  RUNNING  DONE  FAILED  SHARE   DUE     EXACT LANES  QUANTUM  DEFICIT  DISPATCHED TOKENS  TENANTS  JAIN
m      a      4       2048    1m2s    1        9     0       75.0 %  80.0 %  2            512      -5       2500               3        0.987
n      a      0       0       0s      0        0     0       -       80.0 %  0            0        0        2500               -        -
`
	if !strings.Contains(got.out, want) {
		t.Errorf("%s\nwant\n%s", got.out, want)
	}
	got = r.run("", "status", "--json")
	var st wire.BrokerStatus
	if err := json.Unmarshal([]byte(got.out), &st); err != nil || st.Leader != "b1" || strings.Count(got.out, "\n") != 1 {
		t.Errorf("%+v: %v", got, err)
	}
}

func TestStatusWatch(t *testing.T) {
	r := newRig(t)
	ctx, interrupt := context.WithCancel(r.ctx)
	asked := 0
	r.leader("blue.ctl.status", func(string) any {
		if asked++; asked == 3 {
			interrupt()
		}
		return wire.BrokerStatus{Leader: "b1", Recovered: true}
	})
	got := r.runIn(ctx, "", "status", "--watch", "1ms", "--json")
	if n := strings.Count(got.out, "\n"); got.code != 0 || n < 2 {
		t.Errorf("%d lines, %+v", n, got)
	}
}

// TestStatusWidth: what a busy deployment with usual names shows fits a terminal.
func TestStatusWidth(t *testing.T) {
	r := newRig(t)
	r.leader("blue.ctl.status", func(string) any {
		return wire.BrokerStatus{Leader: "b1", Recovered: true, Classes: []wire.ClassStatus{{
			Model: "meta-llama/Llama-3.1-70B-Instruct", Class: "first_attempt", Queued: 12345, QueuedTokens: 12345678, OldestWaitMS: 754000,
			Running: 512, Completed: 123456, Failed: 1234, Share: 0.751, Entitlement: 0.75, SharedTokens: 1 << 40, DispatchedTokens: 1 << 41, Dispatched: 1 << 30,
		}}}
	})
	for line := range strings.Lines(r.run("", "status").out) {
		if n := len(line) - 1; n > 80 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
}

func TestStatusOfAnIdleSystem(t *testing.T) {
	r := newRig(t)
	r.leader("blue.ctl.status", func(string) any {
		return wire.BrokerStatus{Leader: "b1", Recovered: true, Policy: wire.PolicyStatus{Source: wire.PolicyFile, File: "own.yaml"}, Classes: []wire.ClassStatus{{Class: "a", Entitlement: 1}}}
	})
	for _, args := range [][]string{{"status"}, {"status", "--wide"}} {
		want := "leader b1, epoch 0\npolicy: own.yaml\n\nno requests yet\n\nno workers\n"
		if got := r.run("", args...); got != (run{out: want}) {
			t.Errorf("%v: %+v", args, got)
		}
	}
}
