package tape

import (
	"strconv"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"go.uber.org/goleak"

	"fairlead/chaos/check"
	"fairlead/internal/store"
	"fairlead/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func newStore(t *testing.T) (st *store.Store, url string) {
	t.Helper()
	s, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: -1, JetStream: true, StoreDir: t.TempDir(), NoLog: true, NoSigs: true})
	must(t, err)
	go s.Start()
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	if !s.ReadyForConnections(time.Minute) {
		t.Fatal("the server does not start")
	}
	nc, err := nats.Connect(s.ClientURL())
	must(t, err)
	t.Cleanup(nc.Close)
	st, err = store.Open(nc, wire.Names{})
	must(t, err)
	must(t, st.Ensure(t.Context(), store.Options{}))
	must(t, Arm(t.Context(), st))
	return st, s.ClientURL()
}

// Two listeners hear everything twice; the tape has it once, with the sequences
// of the streams, and nothing that the store has refused.
func TestRecord(t *testing.T) {
	st, url := newStore(t)
	claims := make(chan check.Claim, 10)
	r, err := Record([]string{url, url}, time.Now(), func(c check.Claim) { claims <- c })
	must(t, err)
	defer r.Close()
	n := st.Names
	publish := func(subject string, data []byte, headers ...string) {
		t.Helper()
		m := nats.NewMsg(subject)
		m.Data = data
		for i := 0; i < len(headers); i += 2 {
			m.Header.Set(headers[i], headers[i+1])
		}
		if _, err := st.JS.PublishMsg(t.Context(), m); (err != nil) != (len(headers) > 0) {
			t.Fatalf("%s: %v", subject, err)
		}
	}
	publish(n.Epoch(0), strconv.AppendUint(nil, 7, 10))
	publish(n.Verdict(5), wire.Encode(&wire.Verdict{ID: 5, Epoch: 7}))
	publish(n.Work("w1", 3), wire.Encode(&wire.Claim{ID: 9, Attempt: 1, Epoch: 6}), wire.HeaderExpectedSubject, n.Epoch(0), wire.HeaderExpectedSubjectSeq, "1")
	publish(n.Done("w1"), wire.Encode(&wire.Done{ID: 4, Claim: 8}))
	publish(n.Work("w1", 3), wire.Encode(&wire.Claim{ID: 6, Attempt: 2, Epoch: 7}))
	select {
	case c := <-claims:
		if c.ID != 6 || c.Worker != "w1" || c.Attempt != 2 {
			t.Errorf("claim %+v", c)
		}
	case <-time.After(time.Minute):
		t.Fatal("the claim was not heard")
	}
	tape, err := r.Tape()
	must(t, err)
	if len(tape.Guards) != 1 || len(tape.Verdicts) != 1 || len(tape.Claims) != 1 || len(tape.Dones) != 1 || len(claims) != 0 {
		t.Errorf("tape %+v, %d further claims", tape, len(claims))
	}
	if tape.Guards[0].Epoch != 7 || tape.Claims[0].Seq != tape.Guards[0].Seq+2 || tape.Work.Gaps() != 0 {
		t.Errorf("guard %+v, claim %+v, %d missed", tape.Guards[0], tape.Claims[0], tape.Work.Gaps())
	}
}
