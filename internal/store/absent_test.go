package store_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"go.uber.org/goleak"

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

func connected(t *testing.T) *nats.Conn {
	t.Helper()
	srv, err := server.NewServer(&server.Options{DontListen: true, JetStream: true, StoreDir: t.TempDir(), NoLog: true, NoSigs: true})
	must(t, err)
	go srv.Start()
	t.Cleanup(func() { srv.Shutdown(); srv.WaitForShutdown() })
	if !srv.ReadyForConnections(30 * time.Second) {
		t.Fatal("the server does not start")
	}
	nc, err := nats.Connect("", nats.InProcessServer(srv))
	must(t, err)
	t.Cleanup(nc.Close)
	return nc
}

// TestAbsence, of a real stream: what was removed is not found, what never was is
// beyond the last.
func TestAbsence(t *testing.T) {
	nc := connected(t)
	st, err := store.Open(nc, wire.Names{})
	must(t, err)
	must(t, st.Ensure(t.Context(), store.Options{}))
	var ids []uint64
	for range 3 {
		ack, err := st.JS.Publish(t.Context(), "req.a", []byte("x"))
		must(t, err)
		ids = append(ids, ack.Sequence)
	}
	must(t, st.Delete(t.Context(), "REQ", ids[1]))
	must(t, st.Delete(t.Context(), "REQ", ids[1]))
	for id, want := range map[uint64]error{ids[0]: nil, ids[1]: store.ErrNotFound, ids[2]: nil, ids[2] + 1: store.ErrBehind} {
		if _, err := st.Get(t.Context(), "REQ", id); !errors.Is(err, want) {
			t.Errorf("get %d: %v, want %v", id, err, want)
		}
	}
	must(t, st.PurgeBelow(t.Context(), "REQ", ids[2]+1))
	if _, err := st.Get(t.Context(), "REQ", ids[2]); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("of an empty stream: %v", err)
	}
}

// fresh is what an elected leader answers: another one at each question, as clusters
// showed it after the death of a leader. It stands in for JetStream under a name of its
// own, since no election can be had at will.
type fresh struct {
	Found  bool   // the message is there
	Last   uint64 // in the stream
	Leader string
	Since  time.Time // when its lead began
	Code   int       // of the error that a delete ends with
}

func (f fresh) info() map[string]any {
	return map[string]any{
		"state":   map[string]any{"last_seq": f.Last},
		"cluster": map[string]any{"leader": f.Leader, "leader_since": f.Since, "raft_group": "S-R3F"},
	}
}

func (f fresh) refuse() map[string]any {
	return map[string]any{"error": map[string]any{"code": 500, "err_code": f.Code, "description": "no"}}
}

func (f fresh) get() map[string]any {
	if !f.Found {
		return map[string]any{"error": map[string]any{"code": 404, "err_code": 10037, "description": "no message found"}}
	}
	return map[string]any{"message": map[string]any{"subject": "req.a", "seq": 7}}
}

// elected is a store whose leaders answer in turn; asked is how often they were.
func elected(t *testing.T, nc *nats.Conn, answers []fresh) (st *store.Store, asked func() int) {
	t.Helper()
	next := 0
	sub, err := nc.Subscribe("elected.STREAM.>", func(m *nats.Msg) {
		f := answers[min(next, len(answers)-1)]
		next++
		body := f.get()
		switch {
		case strings.Contains(m.Subject, "INFO"):
			body = f.info()
		case strings.Contains(m.Subject, "DELETE"):
			body = f.refuse()
		}
		data, err := json.Marshal(body)
		if err != nil {
			t.Error(err)
		}
		if err := m.Respond(data); err != nil {
			t.Error(err)
		}
	})
	must(t, err)
	t.Cleanup(func() { must(t, sub.Unsubscribe()) })
	st, err = store.OpenAs(nc, wire.Names{}, "elected")
	must(t, err)
	return st, func() int { return next }
}

// TestNothingFrom: nor is it believed that there is nothing more to read.
func TestNothingFrom(t *testing.T) {
	nc := connected(t)
	for name, tc := range map[string]struct {
		answers []fresh
		last    uint64
		none    bool
		fails   bool
	}{
		"nothing":               {[]fresh{{Last: 9, Leader: "a"}, {}, {Last: 9, Leader: "a"}}, 9, true, false},
		"the next is beyond":    {[]fresh{{Last: 9, Leader: "a"}, {Found: true}, {Last: 9, Leader: "a"}}, 6, true, false},
		"something":             {[]fresh{{Last: 9, Leader: "a"}, {Found: true}}, 9, false, false},
		"not taken in":          {[]fresh{{Last: 6, Leader: "a"}}, 9, false, true},
		"another leads at last": {[]fresh{{Last: 9, Leader: "a"}, {}, {Last: 9, Leader: "b"}}, 9, false, true},
		"nobody leads":          {[]fresh{{Last: 9}}, 9, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			st, asked := elected(t, nc, tc.answers)
			none, err := st.NothingFrom(t.Context(), "REQ", 5, tc.last)
			if none != tc.none || (err != nil) != tc.fails || asked() != len(tc.answers) {
				t.Errorf("%v, %v after %d questions; want %v after %d", none, err, asked(), tc.none, len(tc.answers))
			}
		})
	}
}

// TestElectedLeader: a leader that does not show yet what its predecessor acknowledged
// is not believed that it is gone.
func TestElectedLeader(t *testing.T) {
	nc := connected(t)
	for name, tc := range map[string]struct {
		answers []fresh
		want    error
		says    string
	}{
		"removed":                {[]fresh{{}, {Last: 9, Leader: "a"}, {}, {Last: 9, Leader: "a"}}, store.ErrNotFound, ""},
		"not taken in":           {[]fresh{{}, {Last: 6, Leader: "a"}}, store.ErrBehind, "whose last is 6"},
		"taken in since":         {[]fresh{{}, {Last: 7, Leader: "a"}, {Found: true}}, nil, ""},
		"another leads":          {[]fresh{{}, {Last: 9, Leader: "a"}, {}, {Last: 9, Leader: "b"}}, nil, `from "a" to "b"`},
		"there in the first try": {[]fresh{{Found: true}}, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			st, asked := elected(t, nc, tc.answers)
			_, err := st.LeaderGet(t.Context(), "REQ", 7)
			if tc.says == "" && !errors.Is(err, tc.want) || tc.says != "" && (err == nil || !strings.Contains(err.Error(), tc.says) || errors.Is(err, store.ErrNotFound)) {
				t.Errorf("got %v, want %v %s", err, tc.want, tc.says)
			}
			if n := asked(); n != len(tc.answers) {
				t.Errorf("%d questions, want %d", n, len(tc.answers))
			}
		})
	}
}
