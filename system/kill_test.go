package system_test

import (
	"encoding/json"
	"strings"
	"testing"

	"fairlead/client"
	"fairlead/wire"
)

// Outcomes that a test sees at least, and before its fault.
const (
	all  = 600
	some = all / 3
)

// allowed is what a test's faults may do to requests, at most.
type allowed struct {
	lost  int // end with their worker, or have a second outcome, which clients drop
	mixed int // have executions that speak at the same time: their worker was alive
}

// finish waits for the load and checks that nothing was lost, nothing done
// twice, and nothing left behind.
func (w *world) finish(l *load, may allowed) {
	w.t.Helper()
	have, _ := l.count()
	l.after(max(all, have+some)) // what is asked after the faults is done as well
	l.wait()
	st := w.store()
	w.awaitEmpty(st)
	a := readResults(w.t, st)
	duplicated := a.check(l)
	w.t.Logf("%s; %d with two outcomes, %d mixed", l.summary(), duplicated, len(a.mixed))
	if duplicated > may.lost {
		w.t.Errorf("%d requests have two outcomes, want at most %d", duplicated, may.lost)
	}
	if len(a.mixed) > may.mixed {
		w.t.Errorf("%d requests have two executions at the same time, want at most %d", len(a.mixed), may.mixed)
	}
	for reason, n := range l.reasons() {
		if reason != "" && reason != wire.WorkerLost || reason == wire.WorkerLost && n > may.lost {
			w.t.Errorf("%d requests ended with %q; want only worker_lost, at most %d", n, reason, may.lost)
		}
	}
	dead, err := st.Range(w.t.Context(), st.Names.StreamDEAD())
	must(w.t, err)
	if dead.Messages != 0 {
		w.t.Errorf("%d requests were given up", dead.Messages)
	}
}

// slots of an agent, which bound what dies with it.
const slots = 8

func TestKillBroker(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	b, _ := w.running("gpu-1", "gpu-2")
	l := w.startLoad()
	l.inTheMiddle(some, 2*slots)
	b.kill()
	w.broker().ready()
	w.finish(l, allowed{})
}

func TestKillAgent(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, agents := w.running("gpu-1", "gpu-2")
	l := w.startLoad()
	l.inTheMiddle(some, 2*slots)
	agents[0].kill()
	w.agent("gpu-1").ready()
	w.finish(l, allowed{lost: slots})
}

func TestKillEverything(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	b, agents := w.running("gpu-1", "gpu-2")
	l := w.startLoad()
	l.inTheMiddle(some, 2*slots)
	b.kill()
	for _, a := range agents {
		a.kill()
	}
	w.running("gpu-1", "gpu-2")
	w.finish(l, allowed{lost: 2 * slots})
}

// A broker that dies again and again, also while it recovers or stands by,
// because the lease of the one before has not ended.
func TestKillBrokerAgainAndAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	b, _ := w.running("gpu-1", "gpu-2")
	l := w.startLoad()
	for i := range 5 {
		l.inTheMiddle(all/8, 2*slots)
		b.kill()
		b = w.broker()
		if i%2 == 0 {
			b.says(`"message":"embedded NATS listens"`)
			b.kill()
			b = w.broker()
		}
		b.ready()
	}
	w.finish(l, allowed{})
}

// A broker that dies while it creates its streams for the first time leaves
// some, all or none of them; the next one begins from there.
func TestKillDuringFirstStart(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for range 3 {
		b := w.broker()
		b.says("embedded NATS listens")
		b.kill()
	}
	w.running("gpu-1")
	w.result(w.ask(w.client(), client.Request{Body: []byte(`{"max_tokens":1}`)}))
	w.awaitEmpty(w.store())
}

// Nobody listening, nobody computing: an answer that would take hours ends soon
// after the client that streamed it was killed.
func TestClientDies(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.broker().ready()
	w.agent("gpu-1", "--listen-grace", "500ms").ready()
	p := w.fairlead("submit", "-c", "batch", "--stream", "--json", "--body", `{"stream":true,"max_tokens":1000000}`)
	p.writes(p.out, `"event":"chunk"`)
	first, _, _ := strings.Cut(p.out.String(), "\n")
	var receipt struct{ ID uint64 }
	must(t, json.Unmarshal([]byte(first), &receipt))
	p.kill()
	c := w.client()
	w.awaitState(c, receipt.ID, wire.StateEnded)
	w.awaitEmpty(w.store())
	w.result(w.ask(c, client.Request{Body: []byte(`{"max_tokens":1}`)}))
}
