package system_test

import (
	"context"
	"fmt"
	"strings"
	"syscall"
	"testing"

	"fairlead/client"
	"fairlead/wire"
)

func TestBrokerHandsOver(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	b, _ := w.running("gpu-1", "gpu-2")
	l := w.startLoad()
	l.inTheMiddle(some, 2*slots)
	b.signal(syscall.SIGTERM)
	if code := b.exit(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	b.says(`"message":"broker stopped"`)
	w.broker().ready()
	w.finish(l, allowed{})
}

// ask asks one request and returns what waits for it.
func (w *world) ask(c *client.Client, q client.Request) *client.Pending {
	w.t.Helper()
	if q.Class == "" {
		q.Class = "interactive"
	}
	p, err := c.Submit(w.t.Context(), q)
	must(w.t, err)
	w.t.Cleanup(p.Close)
	return p
}

// result waits for the outcome, which must be a result.
func (w *world) result(p *client.Pending) *client.Result {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), patience)
	defer cancel()
	r, err := p.Result(ctx)
	must(w.t, err)
	return r
}

// firstChunk waits until a request is being answered; the rest is still to be read.
func (w *world) firstChunk(p *client.Pending) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), patience)
	defer cancel()
	for _, err := range p.Chunks(ctx) {
		must(w.t, err)
		return
	}
}

// awaitState waits until the leader says where a request is.
func (w *world) awaitState(c *client.Client, id uint64, want wire.RequestState) wire.RequestStatus {
	w.t.Helper()
	var last wire.RequestStatus
	eventually(w.t, fmt.Sprintf("request %d is %s", id, want), func() bool {
		st, err := c.Status(w.t.Context(), id)
		if err != nil {
			return false // nobody leads just now
		}
		last = st.Requests[0]
		return last.State == want
	})
	return last
}

func TestAgentDrains(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, agents := w.running("gpu-1")
	c := w.client()
	first := w.ask(c, client.Request{Body: []byte(`{"stream":true,"max_tokens":100}`)})
	w.firstChunk(first) // "running" would only say that it was handed out
	agents[0].signal(syscall.SIGTERM)
	agents[0].says("draining")
	second := w.ask(c, client.Request{Body: []byte(`{"max_tokens":1}`)})
	if r := w.result(first); r.Attempt != 1 || r.Usage.Output != 100 {
		t.Errorf("%+v, want all of it at the first attempt", r)
	}
	if code := agents[0].exit(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	w.awaitState(c, second.ID, wire.StateQueued)
	w.agent("gpu-1")
	if r := w.result(second); r.Worker != "gpu-1" {
		t.Errorf("%+v", r)
	}
}

func TestSecondSignalGivesBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.broker().ready()
	stuck := w.agent("gpu-1", "--mock-fail", "hang@1")
	stuck.ready()
	c := w.client()
	p := w.ask(c, client.Request{Body: []byte(`{"max_tokens":3}`)})
	w.awaitState(c, p.ID, wire.StateRunning)
	w.agent("gpu-2").ready()
	stuck.signal(syscall.SIGTERM)
	stuck.says("draining")
	stuck.signal(syscall.SIGTERM)
	if code := stuck.exit(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if r := w.result(p); r.Worker != "gpu-2" || r.Attempt < 2 {
		t.Errorf("%+v, want it from gpu-2 at a later attempt", r)
	}
	w.awaitEmpty(w.store())
}

// quantum is that of the interactive class, as the leader has it.
func (w *world) quantum(c *client.Client) int64 {
	w.t.Helper()
	st, err := c.Status(w.t.Context())
	must(w.t, err)
	for _, k := range st.Classes {
		if k.Class == "interactive" {
			return k.Quantum
		}
	}
	return 0
}

func TestHangupReloadsThePolicy(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	b, _ := w.running("gpu-1")
	c := w.client()
	w.result(w.ask(c, client.Request{Body: []byte(`{"max_tokens":1}`)})) // a model's classes are there once it was asked for
	if got := w.quantum(c); got != 400 {
		t.Errorf("quantum %d, want 400", got)
	}

	w.file("policy.yaml", strings.Replace(twoClasses, "quantum: 400", "quantum: many", 1))
	b.signal(syscall.SIGHUP)
	b.says("policy not reloaded; the old one stays")
	if log := b.log.String(); !strings.Contains(log, "policy.yaml:5") || !strings.Contains(log, "quantum") {
		t.Errorf("the log names neither line nor field:\n%s", log)
	}
	if got := w.quantum(c); got != 400 {
		t.Errorf("quantum %d after a bad file, want the old 400", got)
	}

	w.file("policy.yaml", strings.Replace(twoClasses, "quantum: 400", "quantum: 700", 1))
	b.signal(syscall.SIGHUP)
	b.says(`"message":"policy reloaded"`)
	eventually(t, "the new policy is in force", func() bool { return w.quantum(c) == 700 })
}
