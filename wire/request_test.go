package wire_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead/wire"
)

// base is what a request without headers reads as, for a body of 100 bytes.
func base() wire.Request {
	return wire.Request{Class: "chat", Path: wire.PathChat, Rank: wire.AnyRank, Input: 25}
}

func rules(t testing.TB, namespace string) wire.Rules {
	t.Helper()
	names, err := wire.NewNames(namespace)
	if err != nil {
		t.Fatal(err)
	}
	return wire.Rules{Names: names, ReplyPrefixes: wire.DefaultReplyPrefixes()}
}

func TestRequestIsRead(t *testing.T) {
	for _, tc := range []struct {
		name    string
		subject string // default req.chat
		size    int    // default 100
		header  wire.Header
		want    func(*wire.Request)
	}{
		{name: "nothing said", want: func(*wire.Request) {}},
		{name: "model", header: one(wire.HeaderModel, "llama/3.1:8b"), want: func(q *wire.Request) { q.Model = "llama/3.1:8b" }},
		{name: "path", header: one(wire.HeaderPath, wire.PathResponses), want: func(q *wire.Request) { q.Path = wire.PathResponses }},
		{name: "input tokens", header: one(wire.HeaderInputTokens, "7"), want: func(q *wire.Request) { q.Input = 7 }},
		{name: "no input tokens", header: one(wire.HeaderInputTokens, "0"), want: func(q *wire.Request) { q.Input = 0 }},
		{name: "most input tokens", header: one(wire.HeaderInputTokens, "2147483648"), want: func(q *wire.Request) { q.Input = 1 << 31 }},
		{name: "input is a quarter, rounded up", size: 101, want: func(q *wire.Request) { q.Input = 26 }},
		{name: "one byte is one token", size: 1, want: func(q *wire.Request) { q.Input = 1 }},
		{name: "estimate is bounded", size: math.MaxInt, want: func(q *wire.Request) { q.Input = wire.MaxTokens }},
		{name: "cached", header: one(wire.HeaderCachedTokens, "5"), want: func(q *wire.Request) { q.Cached = 5 }},
		{name: "cached beyond raw is clamped", header: two(wire.HeaderInputTokens, "10", wire.HeaderCachedTokens, "11"),
			want: func(q *wire.Request) { q.Input, q.Cached = 10, 10 }},
		{name: "cached beyond the estimate is clamped", header: one(wire.HeaderCachedTokens, "1000"), want: func(q *wire.Request) { q.Cached = 25 }},
		{name: "most output", header: one(wire.HeaderMaxOutput, "4096"), want: func(q *wire.Request) { q.MaxOutput = 4096 }},
		{name: "priority", header: one(wire.HeaderPriority, "2.5"), want: func(q *wire.Request) { q.Priority = 2.5 }},
		{name: "priority in scientific form", header: one(wire.HeaderPriority, "1e3"), want: func(q *wire.Request) { q.Priority = 1000 }},
		{name: "negative priority counts as 0", header: one(wire.HeaderPriority, "-3"), want: func(*wire.Request) {}},
		{name: "strict", header: one(wire.HeaderStrictPriority, "4294967295"), want: func(q *wire.Request) { q.Strict = math.MaxUint32 }},
		{name: "tenant", header: one(wire.HeaderTenant, "acme_1-X"), want: func(q *wire.Request) { q.Tenant = "acme_1-X" }},
		{name: "pinned by subject", subject: "req.chat.gpu-1", want: func(q *wire.Request) { q.Worker = "gpu-1" }},
		{name: "pinned by header", header: one(wire.HeaderPinWorker, "gpu-1"), want: func(q *wire.Request) { q.Worker = "gpu-1" }},
		{name: "pinned by both alike", subject: "req.chat.gpu-1", header: one(wire.HeaderPinWorker, "gpu-1"), want: func(q *wire.Request) { q.Worker = "gpu-1" }},
		{name: "rank", header: two(wire.HeaderPinWorker, "gpu-1", wire.HeaderDPRank, "0"), want: func(q *wire.Request) { q.Worker, q.Rank = "gpu-1", 0 }},
		{name: "prefer", header: one(wire.HeaderPin, "prefer"), want: func(q *wire.Request) { q.Pin = wire.PinPrefer }},
		{name: "hard", header: one(wire.HeaderPin, "hard"), want: func(*wire.Request) {}},
		{name: "allowed workers", header: one(wire.HeaderAllowWorkers, "a, b ,c"), want: func(q *wire.Request) { q.Allow = []string{"a", "b", "c"} }},
		{name: "taints", header: two(wire.HeaderRequireTaints, "big", wire.HeaderPreferTaints, "near,new"),
			want: func(q *wire.Request) { q.Require, q.Prefer = []string{"big"}, []string{"near", "new"} }},
		{name: "ttl", header: one(wire.HeaderTTL, "1m30s"), want: func(q *wire.Request) { q.TTL = 90 * time.Second }},
		{name: "ttl in seconds", header: one(wire.HeaderTTL, "90"), want: func(q *wire.Request) { q.TTL = 90 * time.Second }},
		{name: "shortest ttl", header: one(wire.HeaderTTL, "1"), want: func(q *wire.Request) { q.TTL = time.Second }},
		{name: "longest ttl in seconds", header: one(wire.HeaderTTL, "4294967295"), want: func(q *wire.Request) { q.TTL = wire.MaxTTL }},
		{name: "longest ttl", header: one(wire.HeaderTTL, "2562047h47m16s"), want: func(q *wire.Request) { q.TTL = wire.MaxTTL }},
		{name: "retry", header: one(wire.HeaderRetry, "never"), want: func(q *wire.Request) { q.Retry = wire.RetryNever }},
		{name: "no queue", header: one(wire.HeaderNoQueue, "true"), want: func(q *wire.Request) { q.NoQueue = true }},
		{name: "redriven", header: one(wire.HeaderRedriveOf, "1795977623809904"), want: func(*wire.Request) {}},
		{name: "trace", header: one(wire.HeaderTraceparent, "00-ab-cd-01"), want: func(q *wire.Request) { q.Traceparent = "00-ab-cd-01" }},
		{name: "reply", header: one(wire.HeaderReplyTo, "_INBOX.a.b"), want: func(q *wire.Request) { q.ReplyTo = "_INBOX.a.b" }},
		{name: "spaces around a value", header: one(wire.HeaderModel, "  m "), want: func(q *wire.Request) { q.Model = "m" }},
		{name: "another case", header: one("fairlead-model", "m"), want: func(q *wire.Request) { q.Model = "m" }},
		{name: "shouting", header: one("FAIRLEAD-DP-RANK", "2"), subject: "req.chat.w", want: func(q *wire.Request) { q.Worker, q.Rank = "w", 2 }},
		{name: "others' headers", header: wire.Header{"X-Fairlead-Model": {"a", "b"}, "Nats-Msg-Id": {"1"}, "Traceparent": {"t"}},
			want: func(q *wire.Request) { q.Traceparent = "t" }},
		{name: "class with what a subject allows", subject: "req.ü$%", want: func(q *wire.Request) { q.Class = "ü$%" }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			want := base()
			tc.want(&want)
			got, refusal := rules(t, "").ParseRequest(message(tc.subject, tc.size, tc.header))
			if refusal != nil {
				t.Fatal(refusal)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

func message(subject string, size int, h wire.Header) wire.Message {
	if subject == "" {
		subject = "req.chat"
	}
	if size == 0 {
		size = 100
	}
	return wire.Message{Subject: subject, Header: h, Size: max(size, 0)}
}

func one(key, value string) wire.Header { return wire.Header{key: {value}} }

func two(k1, v1, k2, v2 string) wire.Header { return wire.Header{k1: {v1}, k2: {v2}} }

func TestRequestIsRefused(t *testing.T) {
	const tokens = "a decimal number of tokens, 0 to 2147483648"
	for _, tc := range []struct {
		name   string
		m      wire.Message
		detail []string // parts of it, the name of what is wrong first
	}{
		{"tokens NaN", message("", 0, one(wire.HeaderInputTokens, "NaN")), []string{wire.HeaderInputTokens + ": ", `"NaN"`, tokens}},
		{"tokens too many", message("", 0, one(wire.HeaderInputTokens, "2147483649")), []string{wire.HeaderInputTokens, tokens}},
		{"tokens beyond 64 bits", message("", 0, one(wire.HeaderCachedTokens, "99999999999999999999999")), []string{wire.HeaderCachedTokens, tokens}},
		{"tokens negative", message("", 0, one(wire.HeaderMaxOutput, "-1")), []string{wire.HeaderMaxOutput, `"-1"`, tokens}},
		{"tokens with a fraction", message("", 0, one(wire.HeaderInputTokens, "1.5")), []string{wire.HeaderInputTokens, tokens}},
		{"tokens 1e309", message("", 0, one(wire.HeaderInputTokens, "1e309")), []string{wire.HeaderInputTokens, tokens}},
		{"tokens empty", message("", 0, one(wire.HeaderInputTokens, "")), []string{wire.HeaderInputTokens, tokens}},
		{"priority NaN", message("", 0, one(wire.HeaderPriority, "NaN")), []string{wire.HeaderPriority, "finite"}},
		{"priority 1e309", message("", 0, one(wire.HeaderPriority, "1e309")), []string{wire.HeaderPriority, "finite"}},
		{"priority infinite", message("", 0, one(wire.HeaderPriority, "-Inf")), []string{wire.HeaderPriority, "finite"}},
		{"strict too high", message("", 0, one(wire.HeaderStrictPriority, "4294967296")), []string{wire.HeaderStrictPriority}},
		{"strict negative", message("", 0, one(wire.HeaderStrictPriority, "-1")), []string{wire.HeaderStrictPriority}},
		{"tenant with a dot", message("", 0, one(wire.HeaderTenant, "a.b")), []string{wire.HeaderTenant, "1 to 64 characters"}},
		{"tenant too long", message("", 0, one(wire.HeaderTenant, strings.Repeat("a", 65))), []string{wire.HeaderTenant}},
		{"worker wildcard", message("", 0, one(wire.HeaderPinWorker, "*")), []string{wire.HeaderPinWorker}},
		{"worker by subject and header", message("req.chat.a", 0, one(wire.HeaderPinWorker, "b")), []string{wire.HeaderPinWorker, `"b"`, `"a"`}},
		{"rank without a worker", message("", 0, one(wire.HeaderDPRank, "1")), []string{wire.HeaderDPRank, wire.HeaderPinWorker}},
		{"rank too high", message("req.chat.a", 0, one(wire.HeaderDPRank, "65536")), []string{wire.HeaderDPRank, "65535"}},
		{"pin", message("", 0, one(wire.HeaderPin, "soft")), []string{wire.HeaderPin, "hard or prefer"}},
		{"pin outside the list", message("req.chat.a", 0, one(wire.HeaderAllowWorkers, "b,c")), []string{wire.HeaderAllowWorkers, `"a"`}},
		{"empty list", message("", 0, one(wire.HeaderAllowWorkers, "")), []string{wire.HeaderAllowWorkers, "comma list"}},
		{"hole in a list", message("", 0, one(wire.HeaderRequireTaints, "a,,b")), []string{wire.HeaderRequireTaints, "comma list"}},
		{"ttl zero", message("", 0, one(wire.HeaderTTL, "0")), []string{wire.HeaderTTL, "at least 1s"}},
		{"ttl short", message("", 0, one(wire.HeaderTTL, "999ms")), []string{wire.HeaderTTL, "at least 1s"}},
		{"ttl negative", message("", 0, one(wire.HeaderTTL, "-1m")), []string{wire.HeaderTTL, "at least 1s"}},
		{"ttl absurd", message("", 0, one(wire.HeaderTTL, "1e309")), []string{wire.HeaderTTL, "at least 1s"}},
		{"ttl beyond 64 bits", message("", 0, one(wire.HeaderTTL, "9999999999999h")), []string{wire.HeaderTTL, "at least 1s"}},
		{"retry", message("", 0, one(wire.HeaderRetry, "Always")), []string{wire.HeaderRetry, "auto, always or never"}},
		{"no queue", message("", 0, one(wire.HeaderNoQueue, "1")), []string{wire.HeaderNoQueue, "true or false"}},
		{"path", message("", 0, one(wire.HeaderPath, "/v1/../admin")), []string{wire.HeaderPath, wire.PathEmbeddings}},
		{"model empty", message("", 0, one(wire.HeaderModel, " ")), []string{wire.HeaderModel}},
		{"model long", message("", 0, one(wire.HeaderModel, strings.Repeat("m", 257))), []string{wire.HeaderModel, "256"}},
		{"redrive", message("", 0, one(wire.HeaderRedriveOf, "x")), []string{wire.HeaderRedriveOf}},
		{"trace", message("", 0, one(wire.HeaderTraceparent, strings.Repeat("0", 129))), []string{wire.HeaderTraceparent}},
		{"64 KiB in one header", message("", 0, one(wire.HeaderModel, strings.Repeat("m", 64<<10))), []string{wire.HeaderModel, "65536 bytes", "8192"}},
		{"given twice", message("", 0, wire.Header{wire.HeaderModel: {"a", "b"}}), []string{wire.HeaderModel, "given more than once"}},
		{"given in two spellings", message("", 0, wire.Header{wire.HeaderModel: {"a"}, "fairlead-model": {"b"}}), []string{wire.HeaderModel, "given more than once"}},
		{"unknown of ours", message("", 0, one("Fairlead-Modell", "m")), []string{"Fairlead-Modell", "unknown header"}},
		{"unknown of ours in another case", message("", 0, one("fairlead-x", "m")), []string{"fairlead-x", "unknown header"}},
		{"a header of results", message("", 0, one(wire.HeaderFinal, "true")), []string{wire.HeaderFinal, "unknown header"}},
		{"empty payload", wire.Message{Subject: "req.chat"}, []string{"payload: empty", wire.PathChat}},
		{"deep subject", message("req.a.b.c.d", 0, nil), []string{"subject", `"b.c.d"`}},
		{"class alone with a dot", message("req.a.", 0, nil), []string{"subject", "req.<class>"}},
		{"no class", message("req.", 0, nil), []string{"subject", "req.<class>"}},
		{"no class, a worker", message("req..w", 0, nil), []string{"subject"}},
		{"foreign subject", message("orders.new", 0, nil), []string{"subject", `"orders.new"`, "req.<class>.<worker>"}},
		{"worker on the subject", message("req.a.gpu$1", 0, nil), []string{"subject", `"gpu$1"`}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, refusal := rules(t, "").ParseRequest(tc.m)
			if refusal == nil {
				t.Fatal("was taken")
			}
			if refusal.Reason != wire.InvalidRequest || !strings.HasPrefix(refusal.Detail, tc.detail[0]) {
				t.Errorf("got %q, want invalid_request beginning with %q", refusal.Error(), tc.detail[0])
			}
			for _, part := range tc.detail {
				if !strings.Contains(refusal.Detail, part) {
					t.Errorf("got %q, want a word about %q", refusal.Detail, part)
				}
			}
			if len(refusal.Detail) > 512 {
				t.Errorf("the detail has %d bytes", len(refusal.Detail))
			}
		})
	}
}

// The answer must not depend on the order of a map, and must reach the client
// though something else is wrong.
func TestRefusalIsDeterministicAndCanBeTold(t *testing.T) {
	h := wire.Header{
		wire.HeaderReplyTo: {"_INBOX.me"}, wire.HeaderTTL: {"x"}, wire.HeaderPin: {"x"}, wire.HeaderPriority: {"x"}, wire.HeaderRetry: {"x"},
	}
	for range 100 {
		q, refusal := rules(t, "").ParseRequest(message("", 0, h))
		if refusal == nil || !strings.HasPrefix(refusal.Detail, wire.HeaderPin+":") {
			t.Fatalf("got %v, want the alphabetically first", refusal)
		}
		if q.ReplyTo != "_INBOX.me" || q.Class != "chat" {
			t.Fatalf("got %+v, want reply subject and class", q)
		}
	}
}

func TestReplySubjects(t *testing.T) {
	long := "_INBOX." + strings.Repeat("a", 1017)
	for _, tc := range []struct {
		namespace, subject string
		anywhere           bool // without prefixes
		ok                 bool
	}{
		{"", "_INBOX.x", false, true},
		{"", "_INBOX.x.y.z", false, true},
		{"", "_INBOX_acme.x", false, true},
		{"", long, false, true},
		{"", long + "a", false, false},
		{"", "_INBOX", false, false},
		{"", "_INBOX.", false, false},
		{"", "_INBOX..x", false, false},
		{"", "._INBOX.x", false, false},
		{"", "_INBOX.*", false, false},
		{"", "_INBOX.>", false, false},
		{"", "_INBOX.a>b", false, false},
		{"", "_INBOX.a b", false, false},
		{"", "_INBOX.a\tb", false, false},
		{"", "_INBOX.a\x7fb", false, false},
		{"", "_inbox.x", false, false},
		{"", "results.x", false, false},
		{"", "results.x", true, true},
		{"", "", true, false},
		{"", "$JS.API.STREAM.DELETE.REQ", true, false},
		{"", "$SYS.x", true, false},
		{"", "req.chat", true, false},
		{"", "req", true, false},
		{"", "work.w.1", true, false},
		{"", "reg.w", true, false},
		{"", "verdict.1", true, false},
		{"", "lead", true, false},
		{"", "epoch.1", true, false},
		{"", "drr", true, false},
		{"", "done.w", true, false},
		{"", "res.1", true, false},
		{"", "dead.chat", true, false},
		{"", "load.w", true, false},
		{"", "ev.w", true, false},
		{"", "agent.w.1", true, false},
		{"", "ctl.cancel", true, false},
		{"", "request.x", true, true},
		{"", "my.req.x", true, true},
		{"blue", "blue.req.chat", true, false},
		{"blue", "blue.ctl.cancel", true, false},
		{"blue", "blue", true, false},
		{"blue", "blue.results.x", true, true},
		{"blue", "bluebird.req.x", true, true},
		{"blue", "_INBOX.x", false, true},
	} {
		t.Run(fmt.Sprintf("%s/%.40s/%v", tc.namespace, tc.subject, tc.anywhere), func(t *testing.T) {
			r := rules(t, tc.namespace)
			if tc.anywhere {
				r.ReplyPrefixes = nil
			}
			if want := r.CheckReply(tc.subject); (want == "") != tc.ok {
				t.Errorf("got %q, want ok %v", want, tc.ok)
			}
			q, refusal := r.ParseRequest(message(r.Names.Req("chat"), 0, one(wire.HeaderReplyTo, tc.subject)))
			if (refusal == nil) != tc.ok || (q.ReplyTo == tc.subject) != (tc.ok || tc.subject == "") {
				t.Errorf("refusal %v, reply %q, want ok %v", refusal, q.ReplyTo, tc.ok)
			}
		})
	}
}

func FuzzParseRequest(f *testing.F) {
	f.Add("req.chat", wire.HeaderModel, "m", wire.HeaderTTL, "90s", 100)
	f.Add("req.chat.w", wire.HeaderReplyTo, "_INBOX.x", wire.HeaderDPRank, "1", 0)
	f.Add("blue.req.a", "fairlead-priority", "1e309", "Fairlead-X", "", -1)
	f.Fuzz(func(t *testing.T, subject, k1, v1, k2, v2 string, size int) {
		r := rules(t, "")
		m := wire.Message{Subject: subject, Header: wire.Header{k1: {v1}, k2: {v2}}, Size: max(0, size)}
		q, refusal := r.ParseRequest(m)
		if q.ReplyTo != "" && r.CheckReply(q.ReplyTo) != "" {
			t.Errorf("reply subject %q", q.ReplyTo)
		}
		if q.Priority < 0 || math.IsNaN(q.Priority) || math.IsInf(q.Priority, 0) || q.Cached > q.Input || q.Input > wire.MaxTokens {
			t.Errorf("out of range: %+v", q)
		}
		if refusal != nil {
			if refusal.Detail == "" || refusal.Reason.Code() != 400 {
				t.Errorf("refusal %+v", refusal)
			}
			return
		}
		if q.Class == "" || q.Worker != "" && !wire.ValidToken(q.Worker) || q.TTL != 0 && q.TTL < wire.MinTTL {
			t.Errorf("taken: %+v", q)
		}
	})
}
