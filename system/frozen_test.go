package system_test

import (
	"fmt"
	"slices"
	"syscall"
	"testing"

	"fairlead/client"
	"fairlead/wire"
)

// freeze stops a process as a swapping machine or a debugger does: its
// connections stay, and it does not know that time has passed.
func (p *process) freeze() {
	p.t.Helper()
	p.signal(syscall.SIGSTOP)
	p.t.Cleanup(p.thaw)
}

func (p *process) thaw() { _ = p.cmd.Process.Signal(syscall.SIGCONT) } // fails when it has ended

// A leader that was frozen for longer than its lease still believes that it
// leads when it wakes up: the store must refuse what it hands out.
func TestFrozenLeader(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.external()
	old := w.standby("b1")
	old.ready()
	c := w.client()
	eventually(t, "b1 leads", func() bool {
		st, err := c.Status(t.Context())
		return err == nil && st.Recovered
	})
	w.standby("b2").ready()
	w.agent("gpu-1").ready()
	w.agent("gpu-2").ready()
	l := w.startLoad()
	l.inTheMiddle(some, 2*slots)
	old.freeze()
	eventually(t, "b2 leads", func() bool {
		st, err := c.Status(t.Context())
		return err == nil && st.Leader == "b2" && st.Recovered
	})
	l.inTheMiddle(some, 2*slots)
	old.thaw()
	old.says("term ended; standing by")
	w.finish(l, allowed{})
	old.ready()
}

// A frozen agent is lost; its work is done by another. Awake again it may answer
// late for what it has lost, which clients drop, and must work again.
func TestFrozenAgent(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, agents := w.running("gpu-1", "gpu-2")
	c := w.client()
	l := w.startLoad()
	l.inTheMiddle(some, 2*slots)
	agents[0].freeze()
	w.awaitWorker(c, "gpu-1", "lost", "")
	agents[0].thaw()
	w.awaitWorker(c, "gpu-1", "ready", "busy")
	w.finish(l, allowed{lost: slots, mixed: slots})
	p := w.ask(c, client.Request{Worker: "gpu-1", Body: []byte(`{"max_tokens":1}`)})
	if r := w.result(p); r.Worker != "gpu-1" {
		t.Errorf("%+v", r)
	}
}

// awaitWorker waits until the leader has a worker in one of some states; "" is
// that it knows it no more.
func (w *world) awaitWorker(c *client.Client, worker string, states ...string) {
	w.t.Helper()
	eventually(w.t, fmt.Sprintf("%s is one of %q", worker, states), func() bool {
		st, err := c.Status(w.t.Context())
		must(w.t, err)
		state := ""
		for _, k := range st.Workers {
			if k.Worker == worker {
				state = k.State
			}
		}
		return slices.Contains(states, state)
	})
}

// Clients with an inbox hear at most what the server that died had sent: after
// the reconnect they ask, and every request ends with a word all the same.
func TestInboxesOutliveTheBroker(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	b, _ := w.running("gpu-1", "gpu-2")
	l := w.startInboxLoad()
	l.inTheMiddle(some, 2*slots)
	b.kill()
	w.broker().ready()
	have, _ := l.count()
	l.after(have + some)
	l.wait()
	w.awaitEmpty(w.store())
	t.Log(l.summary())
	for reason, n := range l.reasons() {
		if reason != "" && reason != wire.ResultLost || reason == wire.ResultLost && n > frontends*burst {
			t.Errorf("%d requests ended with %q; want only result_lost, at most %d", n, reason, frontends*burst)
		}
	}
}
