package client_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"fairlead/client"
	"fairlead/internal/store"
	"fairlead/wire"
)

var body = []byte(`{"messages":[]}`)

func TestSubmitPublishesWhatWasAsked(t *testing.T) {
	r := newRig(t, client.Config{})
	rank := uint16(3)
	p := r.submit(client.Request{
		Class: "interactive", Body: body, Model: "m", Path: wire.PathCompletions, Tenant: "acme",
		InputTokens: 100, CachedTokens: 20, MaxOutputTokens: 30, Priority: 1.5, StrictPriority: 2,
		Worker: "gpu-1", Pin: wire.PinPrefer, Rank: &rank, AllowWorkers: []string{"gpu-1", "gpu-2"},
		RequireTaints: []string{"big"}, PreferTaints: []string{"near", "new"},
		TTL: 90*time.Second + time.Millisecond, Retry: wire.RetryAlways, NoQueue: true, Traceparent: "00-a-b-01",
	})
	m, err := r.store.Get(r.ctx, "REQ", p.ID)
	must(t, err)
	got, refusal := wire.Rules{ReplyPrefixes: wire.DefaultReplyPrefixes()}.ParseRequest(wire.Message{Subject: m.Subject, Header: requestHeaders(m), Size: len(m.Data)})
	if refusal != nil {
		t.Fatal(refusal)
	}
	if !strings.HasPrefix(got.ReplyTo, "_INBOX.") {
		t.Errorf("reply subject %q", got.ReplyTo)
	}
	want := wire.Request{
		Class: "interactive", Worker: "gpu-1", Model: "m", Path: wire.PathCompletions, ReplyTo: got.ReplyTo, Tenant: "acme",
		Traceparent: "00-a-b-01", Allow: []string{"gpu-1", "gpu-2"}, Require: []string{"big"}, Prefer: []string{"near", "new"},
		Priority: 1.5, TTL: 90*time.Second + time.Millisecond, Input: 100, Cached: 20, MaxOutput: 30, Strict: 2, Rank: 3,
		Pin: wire.PinPrefer, Retry: wire.RetryAlways, NoQueue: true,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if ttl := m.Header.Get(wire.HeaderNatsTTL); ttl != "691" {
		t.Errorf("Nats-TTL %q, want TTL + 10 min rounded up to 691", ttl)
	}
	if !bytes.Equal(m.Data, body) {
		t.Errorf("body %q", m.Data)
	}
}

// requestHeaders leaves out what the server adds to an answer of its own.
func requestHeaders(m store.Message) wire.Header {
	h := wire.Header{}
	for k, v := range m.Header {
		if strings.HasPrefix(k, "Fairlead-") || k == wire.HeaderTraceparent {
			h[k] = v
		}
	}
	return h
}

func TestSubmitRefusesBeforeSending(t *testing.T) {
	r := newRig(t, client.Config{})
	rank := uint16(0)
	for name, tc := range map[string]struct {
		req    client.Request
		reason wire.Reason
		says   string
	}{
		"no class":           {client.Request{Body: body}, wire.InvalidRequest, `class ""`},
		"class with a dot":   {client.Request{Class: "a.b", Body: body}, wire.InvalidRequest, `class "a.b"`},
		"wildcard class":     {client.Request{Class: "*", Body: body}, wire.InvalidRequest, `class "*"`},
		"empty body":         {client.Request{Class: "a"}, wire.InvalidRequest, "payload"},
		"path":               {client.Request{Class: "a", Body: body, Path: "/admin"}, wire.InvalidRequest, wire.HeaderPath},
		"worker with a dot":  {client.Request{Class: "a", Body: body, Worker: "a.b"}, wire.InvalidRequest, wire.HeaderPinWorker},
		"rank alone":         {client.Request{Class: "a", Body: body, Rank: &rank}, wire.InvalidRequest, wire.HeaderDPRank},
		"short ttl":          {client.Request{Class: "a", Body: body, TTL: time.Millisecond}, wire.InvalidRequest, wire.HeaderTTL},
		"negative ttl":       {client.Request{Class: "a", Body: body, TTL: -time.Second}, wire.InvalidRequest, wire.HeaderTTL},
		"huge list":          {client.Request{Class: "a", Body: body, PreferTaints: []string{strings.Repeat("x", 9000)}}, wire.InvalidRequest, wire.HeaderPreferTaints},
		"64 KiB of headers":  {client.Request{Class: "a", Body: body, Model: strings.Repeat("m", 64<<10)}, wire.InvalidRequest, "headers of"},
		"more than a client": {client.Request{Class: "a", Body: make([]byte, 64<<20+1)}, wire.TooLarge, "MaxBody"},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := r.c.Submit(r.ctx, tc.req)
			e := wantError(t, err, tc.reason)
			if p != nil || e.Code != tc.reason.Code() || !strings.Contains(e.Detail, tc.says) {
				t.Errorf("got %v, %+v; want a word about %s", p, e, tc.says)
			}
		})
	}
	rg, err := r.store.Range(r.ctx, "REQ")
	must(t, err)
	if rg.Messages != 0 {
		t.Errorf("%d messages were sent", rg.Messages)
	}
}

func wantError(t *testing.T, err error, reason wire.Reason) *client.Error {
	t.Helper()
	var e *client.Error
	if !errors.As(err, &e) {
		t.Fatalf("got %v, want a *client.Error with reason %s", err, reason)
	}
	if e.Reason != reason {
		t.Fatalf("got %v, want reason %s", err, reason)
	}
	return e
}

func TestSubmitWithoutFairlead(t *testing.T) {
	t.Parallel() // it takes the time that a stream's election may take
	r := newRig(t, client.Config{})
	c := r.connect(client.Config{Namespace: "elsewhere"})
	_, err := c.Submit(r.ctx, client.Request{Class: "a", Body: body})
	if !errors.Is(err, jetstream.ErrNoStreamResponse) || !strings.Contains(err.Error(), `"elsewhere"`) {
		t.Errorf("got %v, want no stream, naming the namespace", err)
	}
}

func TestSubmitToAFullStream(t *testing.T) {
	r := newRig(t, client.Config{})
	limit(t, r, func(c *jetstream.StreamConfig) { c.MaxMsgs = 1 })
	r.submit(client.Request{Class: "a", Body: body})
	_, err := r.c.Submit(r.ctx, client.Request{Class: "a", Body: body})
	e := wantError(t, err, wire.QueueFull)
	if !strings.Contains(e.Detail, "no room for the stream REQ") {
		t.Errorf("detail %q", e.Detail)
	}

	limit(t, r, func(c *jetstream.StreamConfig) { c.MaxMsgSize = 1024 })
	_, err = r.c.Submit(r.ctx, client.Request{Class: "a", Body: make([]byte, 4096)})
	wantError(t, err, wire.TooLarge)
}

func limit(t *testing.T, r *rig, change func(*jetstream.StreamConfig)) {
	t.Helper()
	configs := r.store.Configs(store.Options{})
	cfg := configs[slices.IndexFunc(configs, func(c jetstream.StreamConfig) bool { return c.Name == r.store.Names.StreamREQ() })]
	change(&cfg)
	_, err := r.store.JS.UpdateStream(r.ctx, cfg)
	must(t, err)
}

func TestIdempotencyKey(t *testing.T) {
	r := newRig(t, client.Config{})
	ask := client.Request{Class: "a", Body: body, Tenant: "acme", IdempotencyKey: "order-1"}
	first, second := r.submit(ask), r.submit(ask)
	if first.Duplicate || !second.Duplicate || first.ID != second.ID {
		t.Errorf("first %d %v, second %d %v; want one id, the second a duplicate", first.ID, first.Duplicate, second.ID, second.Duplicate)
	}
	ask.Tenant = "other"
	if third := r.submit(ask); third.Duplicate || third.ID == first.ID {
		t.Error("the key of one tenant held for another")
	}
	r.take(first.ID, 1).done("answer")
	for _, p := range []*client.Pending{first, second} {
		res, err := p.Result(r.ctx)
		must(t, err)
		if string(res.Body) != "answer" {
			t.Errorf("body %q", res.Body)
		}
	}
}

func TestSubmitOutlivesARestart(t *testing.T) {
	r := newRig(t, client.Config{})
	r.submit(client.Request{Class: "a", Body: body}) // the connection has been in use
	r.stop()
	type outcome struct {
		p   *client.Pending
		err error
	}
	asked := make(chan outcome, 1)
	go func() {
		p, err := r.c.Submit(r.ctx, client.Request{Class: "a", Body: body})
		asked <- outcome{p, err}
	}()
	r.start()
	o := <-asked
	must(t, o.err)
	defer o.p.Close()
	r.take(o.p.ID, 1).done("answer")
	res, err := o.p.Result(r.ctx)
	must(t, err)
	if string(res.Body) != "answer" {
		t.Errorf("body %q", res.Body)
	}
}

func TestSubmitEndsWithItsContext(t *testing.T) {
	r := newRig(t, client.Config{})
	r.stop()
	ctx, cancel := context.WithCancelCause(r.ctx)
	stop := errors.New("enough")
	asked := make(chan error, 1)
	go func() {
		_, err := r.c.Submit(ctx, client.Request{Class: "a", Body: body})
		asked <- err
	}()
	cancel(stop)
	if err := <-asked; !errors.Is(err, stop) && !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestConfig(t *testing.T) {
	for name, tc := range map[string]struct {
		cfg  client.Config
		says string
	}{
		"namespace": {client.Config{Namespace: "a.b"}, "namespace"},
		"timeout":   {client.Config{PublishTimeout: time.Minute}, "PublishTimeout"},
		"negative":  {client.Config{LostGrace: -1}, "LostGrace"},
		"buffer":    {client.Config{MaxBuffered: -1}, "MaxBuffered"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := client.New(nil, tc.cfg); err == nil || !strings.Contains(err.Error(), tc.says) {
				t.Errorf("got %v, want a word about %s", err, tc.says)
			}
		})
	}
	if _, err := client.Connect("nats://127.0.0.1:1", client.Config{}); !errors.Is(err, nats.ErrNoServers) {
		t.Errorf("got %v, want no servers at once", err)
	}
}

func ExampleClient_Submit() {
	c, err := client.Connect(nats.DefaultURL, client.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	ctx := context.Background()
	p, err := c.Submit(ctx, client.Request{Class: "interactive", Body: []byte(`{"messages":[],"stream":true}`), TTL: time.Minute})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer p.Close()
	for chunk, err := range p.Chunks(ctx) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%s\n", chunk.Data)
	}
}

// The store's answer may be lost while the request is already being answered:
// then the answer is the receipt.
func TestAnAnswerIsAReceipt(t *testing.T) {
	t.Parallel() // it waits for the store's answer first
	r := newRig(t, client.Config{})
	c := r.connect(client.Config{Namespace: "mute"})
	o := wire.Origin{ID: 77, Attempt: 1, Claim: 1, Worker: "w"}
	_, err := r.store.NC.Subscribe("mute.req.a", func(m *nats.Msg) {
		_ = r.store.NC.PublishMsg(&nats.Msg{Subject: m.Header.Get(wire.HeaderReplyTo), Header: o.FinalOK(0, wire.Usage{}), Data: []byte("answer")})
	})
	must(t, err)
	r.flush()
	p, err := c.Submit(r.ctx, client.Request{Class: "a", Body: body})
	must(t, err)
	res, err := p.Result(r.ctx)
	must(t, err)
	if p.ID != 77 || string(res.Body) != "answer" {
		t.Errorf("id %d, body %q", p.ID, res.Body)
	}
}
