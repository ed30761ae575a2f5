package accounts_test

import (
	"testing"

	"github.com/nats-io/nats.go"

	"fairlead/wire"
)

// TestOneAccountIsNotEnough: with the same permissions in a single account the same
// attacks succeed. It shows why there are three, and that the other tests would see it.
func TestOneAccountIsNotEnough(t *testing.T) {
	r := newFlatRig(t)
	op := r.operator()
	forged := wire.Encode(&wire.Done{ID: 1, Attempt: 1, Worker: "gpu-2", Status: wire.StatusOK})
	ack, err := op.JS.Publish(r.ctx(), "req.c", forged)
	must(t, err)
	ctl, err := op.NC.Subscribe("ctl.status", func(m *nats.Msg) { _ = m.Respond([]byte("{}")) })
	must(t, err)
	defer ctl.Unsubscribe()
	must(t, op.NC.Flush())
	agent, frontend := r.on(op, "gpu-1", "_AGENT.gpu-1"), r.on(op, "gw-2", "_INBOX.gw-2")
	_, err = agent.consumer("agent-x", "work.gpu-1.1", nil)
	must(t, err)
	agent.claim("work.gpu-1.1", 5, false)
	agent.claim("work.gpu-1.1", 6, false)
	for _, tc := range []struct {
		by                        *stage
		ask, body, target, stream string
		allowed                   map[string]uint64
	}{
		{agent, "$JS.API.DIRECT.GET.REQ", `{"seq":` + itoa(ack.Sequence) + `}`, "done.gpu-2", "DONE", nil},
		{agent, "done.gpu-1", "", "epoch.3", "WORK", map[string]uint64{"DONE": 2}},
		{agent, "$JS.API.CONSUMER.MSG.NEXT.WORK.agent-x", `{"batch":1}`, "req.a", "REQ", nil},
		{frontend, "req.b", "{}", "lead", "WORK", map[string]uint64{"REQ": 2}},
		{frontend, "ctl.status", "", "work.gpu-2.7", "WORK", nil},
	} {
		left := tc.by.stored(tc.allowed, func() {
			must(t, tc.by.nc.PublishRequest(tc.ask, tc.target, []byte(tc.body)))
			_, err := tc.by.nc.RequestWithContext(tc.by.ctx(), tc.ask, []byte(tc.body))
			must(t, err)
		})
		if left[tc.stream] != 1 {
			t.Errorf("%s, %s answered on %s: left %v; want it to succeed, with one account", tc.by.who, tc.ask, tc.target, left)
		}
	}
}
