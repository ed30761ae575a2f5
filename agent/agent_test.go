package agent

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"fairlead/agent/engine"
	"fairlead/internal/store"
	"fairlead/wire"
)

const streaming = `{"stream":true}`

func reply(subject string) map[string]string { return map[string]string{wire.HeaderReplyTo: subject} }

func TestStreamToReply(t *testing.T) {
	w := newWorldWithStreams(t)
	eng := newFake()
	eng.script = words
	r := w.start(eng, nil)
	hb := r.ready()
	if hb.Incarnation != r.agent.Incarnation() || hb.Incarnation == 0 || hb.Slots != 2 || hb.Ranks != 1 || hb.Engine != "fake" ||
		hb.IntervalMS != 100 || hb.Draining || !cmp.Equal(hb.Models, []string{"m"}) {
		t.Errorf("heartbeat %+v", hb)
	}
	subject, results := w.inbox()
	id := w.ask(request{streaming, reply(subject)})
	seq := r.hand(wire.Claim{ID: id, Attempt: 3, Lost: 1})
	for i := range 3 {
		m, raw := w.next(results)
		if m.Origin != (wire.Origin{ID: id, Attempt: 3, Claim: seq, Worker: "w1"}) || m.Index != i || m.Final != (i == 2) {
			t.Fatalf("message %d: %+v", i, m)
		}
		if want := []string{`{"n":0}`, `{"n":1}`, ""}[i]; string(raw.Data) != want {
			t.Errorf("message %d: %s, want %s", i, raw.Data, want)
		}
		if m.Final && *m.Usage != (wire.Usage{Prompt: 10, Cached: 4, Output: 2}) {
			t.Errorf("usage %+v", m.Usage)
		}
	}
	d := r.done()
	if d.ID != id || d.Attempt != 3 || d.Lost != 1 || d.Claim != seq || d.Status != wire.StatusOK || d.Worker != "w1" ||
		d.Incarnation != hb.Incarnation || d.Class != "chat" || d.FirstMS < 1 || d.Usage != (wire.Usage{Prompt: 10, Cached: 4, Output: 2}) {
		t.Errorf("DONE %+v", d)
	}
	for _, kind := range []wire.EventKind{wire.EventStarted, wire.EventFirstToken} {
		e := receive(t, "an event", r.events, nil)
		if e.Kind != kind || e.ID != id || e.Claim != seq || e.Attempt != 3 || e.Incarnation != hb.Incarnation {
			t.Errorf("event %+v, want %s", e, kind)
		}
	}
	r.idle()
	if err := r.agent.Ready(); err != nil {
		t.Errorf("not ready: %v", err)
	}
}

func TestStoredResult(t *testing.T) {
	w := newWorldWithStreams(t)
	eng := newFake()
	eng.script = words
	r := w.start(eng, nil)
	r.ready()
	id := w.ask(request{body: streaming})
	r.hand(wire.Claim{ID: id})
	r.done()
	r.idle()
	var got []string
	for seq := uint64(0); ; {
		stream, err := w.st.JS.Stream(t.Context(), w.st.Names.StreamRES())
		w.must(err)
		m, err := stream.GetMsg(t.Context(), seq+1, jetstream.WithGetMsgSubject(w.st.Names.Res(id)))
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			break
		}
		w.must(err)
		res, err := wire.ParseResult(wire.Header(m.Header))
		w.must(err)
		if res.Index != len(got) || res.Final != (len(got) == 2) {
			t.Errorf("message %d is %+v", len(got), res)
		}
		got, seq = append(got, string(m.Data)), m.Sequence
	}
	if diff := cmp.Diff([]string{`{"n":0}`, `{"n":1}`, ""}, got); diff != "" {
		t.Error(diff)
	}
}

func TestWholeAnswer(t *testing.T) {
	w := newWorldWithStreams(t)
	eng := newFake()
	r := w.start(eng, nil)
	r.ready()
	subject, results := w.inbox()
	header := reply(subject)
	header[wire.HeaderPath] = wire.PathEmbeddings
	header[wire.HeaderInputTokens], header[wire.HeaderCachedTokens], header[wire.HeaderMaxOutput] = "100", "40", "7"
	header[wire.HeaderTraceparent] = "00-abc-def-01"
	id := w.ask(request{`{"input":"x"}`, header})
	r.hand(wire.Claim{ID: id, Model: "chosen"})
	call := receive(t, "the call", eng.calls, nil)
	want := engine.Request{ID: id, Attempt: 1, Path: wire.PathEmbeddings, Model: "chosen", Body: []byte(`{"input":"x"}`),
		Header: map[string][]string{"Traceparent": {"00-abc-def-01"}}, InputTokens: 100, CachedTokens: 40, MaxOutputTokens: 7}
	if call.req.Prefilled == nil {
		t.Error("the engine cannot tell the end of its prefill")
	}
	call.req.Prefilled = nil
	if diff := cmp.Diff(want, call.req); diff != "" {
		t.Error(diff)
	}
	call.end <- fakeEnd{res: engine.Result{Body: []byte(`{"whole":1}`), ContentType: "application/json", FirstToken: time.Second}}
	m, raw := w.next(results)
	if !m.Final || m.Index != 0 || string(raw.Data) != `{"whole":1}` || raw.Header.Get("Content-Type") != "application/json" {
		t.Errorf("got %+v, %s", m, raw.Data)
	}
	if d := r.done(); d.Status != wire.StatusOK || d.Usage.Cached != -1 {
		t.Errorf("DONE %+v, want unknown cached tokens", d)
	}
}

func TestRank(t *testing.T) {
	w := newWorldWithStreams(t)
	eng := newFake()
	r := w.start(eng, func(c *Config) { c.Ranks = 2 })
	r.ready()
	for _, rank := range []int32{1, wire.AnyRank} {
		r.hand(wire.Claim{ID: w.ask(request{body: "{}"}), Rank: rank})
		call := receive(t, "the call", eng.calls, nil)
		if (call.req.Rank != nil) != (rank == 1) || call.req.Rank != nil && *call.req.Rank != 1 {
			t.Errorf("rank %v, want that of the claim, %d", call.req.Rank, rank)
		}
		call.end <- fakeEnd{}
		r.done()
	}
}

func TestSlots(t *testing.T) {
	w := newWorldWithStreams(t)
	eng := newFake()
	r := w.start(eng, nil)
	r.ready()
	for range 5 {
		r.hand(wire.Claim{ID: w.ask(request{body: "{}"}), Input: 100, Cached: 30})
	}
	a, b := receive(t, "the first call", eng.calls, nil), receive(t, "the second call", eng.calls, nil)
	receive(t, "a heartbeat with two slots taken and three waiting", r.beats, func(h *wire.Heartbeat) bool {
		return h.Active == 2 && len(h.InFlight) == 5 && h.PrefillTokens == 350
	})
	if len(eng.calls) != 0 {
		t.Fatal("more calls than slots")
	}
	a.end <- fakeEnd{}
	c := receive(t, "the third call", eng.calls, nil)
	b.end <- fakeEnd{}
	c.end <- fakeEnd{}
	for range 2 {
		receive(t, "a later call", eng.calls, nil).end <- fakeEnd{}
	}
	for range 5 {
		r.done()
	}
	r.idle()
}

func TestOrder(t *testing.T) {
	// One connection sees the order in which the server took the messages.
	w := newWorldWithStreams(t)
	eng := newFake()
	eng.script = words
	r := w.start(eng, nil)
	r.ready()
	subject := w.nc.NewInbox()
	seen := make(chan *nats.Msg, 10)
	for _, s := range []string{subject, w.st.Names.Done("w1"), "$JS.ACK.test_WORK.>"} {
		_, err := w.nc.ChanSubscribe(s, seen)
		w.must(err)
	}
	w.must(w.nc.Flush())
	r.hand(wire.Claim{ID: w.ask(request{streaming, reply(subject)})})
	for i, want := range []string{subject, subject, subject, w.st.Names.Done("w1"), "$JS.ACK."} {
		m := receive(t, want, seen, nil)
		if !strings.HasPrefix(m.Subject, want) || (m.Header.Get(wire.HeaderFinal) != "") != (i == 2) {
			t.Fatalf("message %d on %s, want %s", i, m.Subject, want)
		}
	}
	r.idle()
}

func TestStreamsAppearLater(t *testing.T) {
	w := newWorld(t)
	eng := newFake()
	eng.script = words
	r := w.start(eng, nil)
	r.log.says(t, "waiting for stream test_REQ: start a broker")
	w.must(w.st.Ensure(t.Context(), store.Options{}))
	r.ready()
	r.hand(wire.Claim{ID: w.ask(request{body: "{}"})})
	r.done()
}

func TestConfigErrors(t *testing.T) {
	ok := Config{Worker: "w", Engine: newFake()}
	for want, change := range map[string]func(*Config){
		`worker "": want 1 to 64`:              func(c *Config) { c.Worker = "" },
		`worker "a.b": want 1 to 64`:           func(c *Config) { c.Worker = "a.b" },
		"engine: is missing":                   func(c *Config) { c.Engine = nil },
		"ranks: -1, want 1":                    func(c *Config) { c.Ranks = -1 },
		"slots: -1 on each":                    func(c *Config) { c.Slots = -1 },
		"slots: 16385 on each":                 func(c *Config) { c.Slots = 16385 },
		"speed: -1 tokens/s":                   func(c *Config) { c.Speed = -1 },
		"block tokens: -1":                     func(c *Config) { c.BlockTokens = -1 },
		"heartbeat: 1ms, want 50ms to 1m":      func(c *Config) { c.Heartbeat = time.Millisecond },
		"listen grace: -1ns":                   func(c *Config) { c.ListenGrace = -1 },
		"body grace: -1ns":                     func(c *Config) { c.BodyGrace = -1 },
		"leave grace: -1ns":                    func(c *Config) { c.LeaveGrace = -1 },
		"models: 1025, want at most 1024":      func(c *Config) { c.Models = make([]string, 1025) },
		"taints: 1025, want at most 1024":      func(c *Config) { c.Taints = make([]string, 1025) },
		`models: "mm`:                          func(c *Config) { c.Models = []string{strings.Repeat("m", 257)} },
		`taint "a b": want 1 to 64 characters`: func(c *Config) { c.Taints = []string{"a b"} },
	} {
		cfg := ok
		change(&cfg)
		if _, err := New(cfg); err == nil || !strings.HasPrefix(err.Error(), "agent: "+want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	if _, err := New(ok); err != nil {
		t.Error(err)
	}
}

func TestUsageOnTheWireMatchesTheEngines(t *testing.T) {
	// The final message's usage is read by clients that know OpenAI's names.
	h := wire.Origin{}.FinalOK(0, wire.Usage{Prompt: 1, Cached: 2, Output: 3})
	var got map[string]int64
	if err := json.Unmarshal([]byte(wire.First(h, wire.HeaderUsage)), &got); err != nil || got["prompt_tokens"] != 1 {
		t.Errorf("got %v, %v", got, err)
	}
}
