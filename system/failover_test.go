package system_test

import (
	"testing"

	"fairlead/broker/embedded"
)

// external puts a NATS server of its own, with real sockets, under the world.
func (w *world) external() {
	w.t.Helper()
	srv, err := embedded.Start(embedded.Options{StoreDir: w.t.TempDir(), Port: w.port})
	must(w.t, err)
	w.t.Cleanup(func() { must(w.t, srv.Stop()) })
}

// standby starts a broker on the external server.
func (w *world) standby(name string) *process {
	w.t.Helper()
	return w.daemon("broker "+name, "broker", "--name", name, "--nats-url", w.url, "--policy", w.policy)
}

func TestStandbyTakesOver(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.external()
	brokers := map[string]*process{"b1": w.standby("b1"), "b2": w.standby("b2")}
	for _, b := range brokers {
		b.ready()
	}
	w.agent("gpu-1").ready()
	w.agent("gpu-2").ready()
	l := w.startLoad()
	for range 2 { // there, and back
		l.inTheMiddle(some, 2*slots)
		st, err := l.clients[0].Status(t.Context())
		must(t, err)
		leader := brokers[st.Leader]
		if leader == nil {
			t.Fatalf("%q leads", st.Leader)
		}
		leader.kill()
		eventually(t, "the other broker leads", func() bool {
			now, err := l.clients[0].Status(t.Context())
			return err == nil && now.Leader != st.Leader && now.Epoch > st.Epoch && now.Recovered
		})
		brokers[st.Leader] = w.standby(st.Leader)
		brokers[st.Leader].ready()
	}
	w.finish(l, allowed{})
}
