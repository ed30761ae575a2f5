package system_test

import (
	"testing"

	"fairlead/wire"
)

// The load of these tests: as many requests as end within seconds.
const (
	frontends = 24
	rounds    = 5
	all       = frontends * rounds * burst
)

// finish waits for the load and checks that nothing was lost, nothing done
// twice, and nothing left behind. lost bounds how many requests may have ended
// with their worker.
func (w *world) finish(l *load, lost int) {
	w.t.Helper()
	l.wait()
	st := w.store()
	w.awaitEmpty(st)
	duplicated := readResults(w.t, st).check(l)
	w.t.Logf("%s; %d duplicated", l.summary(), duplicated)
	if duplicated > lost {
		w.t.Errorf("%d requests have two outcomes, want at most %d", duplicated, lost)
	}
	for reason, n := range l.reasons() {
		if reason != "" && reason != wire.WorkerLost || reason == wire.WorkerLost && n > lost {
			w.t.Errorf("%d requests ended with %q; want only worker_lost, at most %d", n, reason, lost)
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
	l := w.startLoad(frontends, rounds)
	l.inTheMiddle(all/3, 2*slots)
	b.kill()
	w.broker().ready()
	w.finish(l, 0)
}

func TestKillAgent(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, agents := w.running("gpu-1", "gpu-2")
	l := w.startLoad(frontends, rounds)
	l.inTheMiddle(all/3, 2*slots)
	agents[0].kill()
	w.agent("gpu-1").ready()
	w.finish(l, slots)
}

func TestKillEverything(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	b, agents := w.running("gpu-1", "gpu-2")
	l := w.startLoad(frontends, rounds)
	l.inTheMiddle(all/3, 2*slots)
	b.kill()
	for _, a := range agents {
		a.kill()
	}
	w.running("gpu-1", "gpu-2")
	w.finish(l, 2*slots)
}

// A broker that dies again and again, also while it recovers or stands by,
// because the lease of the one before has not ended.
func TestKillBrokerAgainAndAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	b, _ := w.running("gpu-1", "gpu-2")
	l := w.startLoad(frontends, rounds)
	for i := range 5 {
		l.inTheMiddle(all*(i+1)/8, 2*slots)
		b.kill()
		b = w.broker()
		if i%2 == 0 {
			b.says(`"message":"embedded NATS listens"`)
			b.kill()
			b = w.broker()
		}
		b.ready()
	}
	w.finish(l, 0)
}
