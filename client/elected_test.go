package client_test

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"fairlead/client"
	"fairlead/wire"
)

// electedAPI is the name under which a test asks JetStream about an elected leader.
const electedAPI = "elected"

// elected stands between a client and JetStream and answers, as a just-elected leader
// of RES may, that there is no such message: as often as stale says. Everything else
// is JetStream's own answer. No election can be had at will.
func (r *rig) elected(stale int32) *atomic.Int32 {
	r.t.Helper()
	left := new(atomic.Int32)
	left.Store(stale)
	sub, err := r.store.NC.Subscribe(electedAPI+".>", func(m *nats.Msg) {
		call := strings.TrimPrefix(m.Subject, electedAPI+".")
		if call == "STREAM.MSG.GET.RES" && left.Add(-1) >= 0 {
			if err := m.Respond([]byte(`{"error":{"code":404,"err_code":10037,"description":"no message found"}}`)); err != nil {
				r.t.Error(err)
			}
			return
		}
		if err := r.store.NC.PublishRequest("$JS.API."+call, m.Reply, m.Data); err != nil {
			r.t.Error(err)
		}
	})
	must(r.t, err)
	r.flush()
	r.t.Cleanup(func() { _ = sub.Unsubscribe() })
	return left
}

// A result is not lost because a just-elected leader does not show it yet.
func TestAwaitOfAnElectedLeader(t *testing.T) {
	t.Parallel()
	r := newRig(t, client.Config{APIPrefix: electedAPI, LostGrace: time.Millisecond})
	id := storedRequest(r).ID
	r.take(id, 1).done("answer")
	r.elected(2)
	leadStatus(r, wire.StateEnded, nil)
	p, err := r.c.Await(r.ctx, id)
	must(t, err)
	_, err = p.Result(r.ctx)
	must(t, err)
}

// What was heard is an outcome, whatever the leader shows of it.
func TestAwaitWhatWasHeard(t *testing.T) {
	t.Parallel()
	r := newRig(t, client.Config{APIPrefix: electedAPI, LostGrace: time.Millisecond})
	id := storedRequest(r).ID
	r.elected(1 << 30)
	p, err := r.c.Await(r.ctx, id)
	must(t, err)
	r.take(id, 1).done("answer")
	leadStatus(r, wire.StateEnded, nil)
	_, err = p.Result(r.ctx)
	must(t, err)
}

// A leader that does not show what was read before has not taken it in.
func TestAwaitBeyondWhatWasRead(t *testing.T) {
	t.Parallel()
	const many = 8 // more than the reads after which a result is lost
	r := newRig(t, client.Config{APIPrefix: electedAPI, LostGrace: time.Millisecond})
	id := storedRequest(r).ID
	w := r.take(id, 1).chunks("a")
	stale := r.elected(0)
	p, err := r.c.Await(r.ctx, id)
	must(t, err)
	stale.Store(many)
	w.done("")
	leadStatus(r, wire.StateEnded, nil)
	_, err = p.Result(r.ctx)
	must(t, err)
	if n := stale.Load(); n >= 0 {
		t.Errorf("%d stale answers were not asked for", n)
	}
}
