package broker

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"

	"fairlead/internal/store"
	"fairlead/wire"
)

// TestEndOfAStream: a leader that has just been elected tells an end that is too low, and
// is asked again once it has come to the end of its log.
func TestEndOfAStream(t *testing.T) {
	nc, err := nats.Connect(cluster(t, 1)[0])
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	last := 6
	answer := func(m *nats.Msg) {
		body := fmt.Sprintf(`{"state":{"first_seq":1,"last_seq":%d},"cluster":{"leader":"a","raft_group":"g"}}`, last)
		if strings.Contains(m.Subject, "MSG.DELETE") {
			last, body = 9, fmt.Sprintf(`{"error":{"code":400,"err_code":%d}}`, store.CodeSequenceNotFound)
		}
		if err := m.Respond([]byte(body)); err != nil {
			t.Error(err)
		}
	}
	if _, err := nc.Subscribe("elected.STREAM.>", answer); err != nil {
		t.Fatal(err)
	}
	b, err := New(Config{Conn: nc, Log: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	if b.store, err = store.OpenAs(nc, wire.Names{}, "elected"); err != nil {
		t.Fatal(err)
	}
	in := &intake{term: &term{b: b}}
	if r, err := in.rangeOf(t.Context(), "REQ"); err != nil || r.Last != 9 {
		t.Errorf("the end is %d, %v; want 9", r.Last, err)
	}
}

// TestEndAfterElection: what was acknowledged is within the range that is told after a
// change of leaders.
func TestEndAfterElection(t *testing.T) {
	for _, replicas := range []int{1, 3} {
		t.Run(fmt.Sprintf("replicas=%d", replicas), func(t *testing.T) {
			b := believer(t, cluster(t, replicas)[0], "b", replicas).b
			in := &intake{term: &term{b: b}}
			ack, err := b.store.JS.Publish(t.Context(), "req.a", []byte("{}"))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := b.cfg.Conn.Request("$JS.API.STREAM.LEADER.STEPDOWN.REQ", nil, time.Minute); err != nil {
				t.Fatal(err)
			}
			if r, err := in.rangeOf(t.Context(), "REQ"); err != nil || r.Last != ack.Sequence || r.Messages != 1 {
				t.Fatalf("the end is %d, %v; want %d", r.Last, err, ack.Sequence)
			}
		})
	}
}
