package broker_test

import (
	"encoding/json"
	"strings"
	"testing"

	"fairlead/broker"
	"fairlead/wire"
)

// TestExplain: the leader tells what a request meets, whether somebody asked it
// or not.
func TestExplain(t *testing.T) {
	w := newWorld(t)
	w.awaitLeader(w.broker(func(c *broker.Config) {
		c.Policy = mustPolicy(t, oneClass(", request_queue_limit_per_worker: 2"))
	}))
	ask := func(body string) wire.BrokerStatus {
		t.Helper()
		m, err := w.nc.Request(w.names.CtlStatus(), []byte(body), patience)
		if err != nil {
			t.Fatal(err)
		}
		var s wire.BrokerStatus
		if err := json.Unmarshal(m.Data, &s); err != nil {
			t.Fatal(err)
		}
		return s
	}
	explain := func(q wire.ExplainRequest) wire.Explanation {
		t.Helper()
		body, err := json.Marshal(wire.StatusRequest{Explain: &q})
		if err != nil {
			t.Fatal(err)
		}
		s := ask(string(body))
		if s.Explain == nil {
			t.Fatalf("no explanation: %+v", s)
		}
		return *s.Explain
	}
	id := w.request("req.a", inbox{})
	eventually(t, "the leader has read the request", func() bool { return explain(wire.ExplainRequest{ID: id}).Class != "" })
	x := explain(wire.ExplainRequest{ID: id})
	if x.State != wire.StateQueued || x.Class != "a" || x.Position != 1 || len(x.Limits) != 1 || x.Limits[0].Current != 1 {
		t.Errorf("a queued request: %+v", x)
	}
	x = explain(wire.ExplainRequest{Class: "a", Headers: map[string]string{wire.HeaderInputTokens: "70", wire.HeaderCachedTokens: "20"}})
	if x.Prospect != wire.ProspectWaits || x.Cost != 50 || x.Position != 2 {
		t.Errorf("a request that would wait: %+v", x)
	}
	x = explain(wire.ExplainRequest{Class: "a", Headers: map[string]string{wire.HeaderTTL: "soon"}})
	if x.Prospect != wire.ProspectRefused || x.Reason != wire.InvalidRequest || !strings.Contains(x.Why, wire.HeaderTTL) {
		t.Errorf("a request that cannot be read: %+v", x)
	}
	if s := ask("{"); s.Error == "" || s.Explain != nil {
		t.Errorf("nonsense: %+v", s)
	}
	w.worker("w1", nil).take().finish()
	w.awaitEmpty()
}
