package broker

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"fairlead/broker/embedded"
	"fairlead/internal/store"
	"fairlead/policy"
	"fairlead/wire"
)

// electedTerm is a term whose stream leader answers about request 7 as one that has just
// been elected: that there is nothing so new, as often as stale says. No election can be
// had at will. The client's end of a cancel comes with it.
func electedTerm(t *testing.T, stale int) (*term, *nats.Msg, *nats.Subscription) {
	t.Helper()
	srv, err := embedded.Start(embedded.Options{StoreDir: t.TempDir(), Log: zerolog.Nop()})
	must(t, err)
	t.Cleanup(func() { must(t, srv.Stop()) })
	nc, err := nats.Connect(srv.URL())
	must(t, err)
	t.Cleanup(nc.Close)
	asked := 0
	_, err = nc.Subscribe("elected.STREAM.>", func(m *nats.Msg) {
		answer := `{"state":{"last_seq":6}}`
		if strings.Contains(m.Subject, "MSG.GET") {
			answer = `{"error":{"code":404,"err_code":10037}}`
			if asked++; asked > stale {
				answer = `{"message":{"subject":"req.a","seq":7}}`
			}
		}
		_ = m.Respond([]byte(answer)) // the connection ends with the test
	})
	must(t, err)
	st, err := store.OpenAs(nc, wire.Names{}, "elected")
	must(t, err)
	b := &Broker{store: st, log: zerolog.Nop(), metrics: newMetrics(prometheus.NewPedanticRegistry())}
	tm := newTerm(b, &lease{b: b, epoch: 1}, policy.Default())
	tm.intake.req.seq.Store(7)
	t.Cleanup(func() { tm.cancel(); must(t, tm.group.Wait()) })
	to, err := nc.SubscribeSync(nc.NewInbox())
	must(t, err)
	asks, err := nc.SubscribeSync("asks")
	must(t, err)
	must(t, nc.PublishRequest("asks", to.Subject, nil))
	m, err := asks.NextMsg(time.Minute)
	must(t, err)
	return tm, m, to
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func earlyReply(t *testing.T, to *nats.Subscription) (r wire.CancelReply) {
	t.Helper()
	m, err := to.NextMsg(time.Minute)
	must(t, err)
	must(t, json.Unmarshal(m.Data, &r))
	return r
}

// TestCancelOfAnElectedLeader: what such a leader does not show yet is not unknown.
func TestCancelOfAnElectedLeader(t *testing.T) {
	tm, m, to := electedTerm(t, 3)
	tm.cancelEarly(m, 7)
	select {
	case <-tm.asks: // the loop is asked to cancel it
	case <-time.After(time.Minute):
		t.Error("no cancel")
	}
	if n, _, err := to.Pending(); n != 0 || err != nil {
		t.Errorf("answered %+v, %v", earlyReply(t, to), err)
	}
}

// TestCancelOfWhatNeverWas ends with a word, and many of them hold nothing up.
func TestCancelOfWhatNeverWas(t *testing.T) {
	tm, m, to := electedTerm(t, 1<<30)
	for range maxEarly + 1 {
		tm.cancelEarly(m, 7)
	}
	if r := earlyReply(t, to); r.Error == "" || r.Outcome != "" {
		t.Errorf("one too many: %+v", r)
	}
	for range maxEarly {
		if r := earlyReply(t, to); r.Error != "" || r.Outcome != wire.CancelUnknown {
			t.Errorf("%+v", r)
		}
	}
}
