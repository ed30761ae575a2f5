package arbiter

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"fairlead/wire"
)

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// run carries out one line.
func (s *script) run(name string, a args) {
	switch name {
	case "class":
		s.addClass(a)
	case "profile":
		for _, key := range sortedKeys(a.named) {
			s.profile += key + ": " + a.named[key] + "\n"
		}
	case "start":
		s.start(a)
	case "save":
		s.saved = s.arb.Save()
	case "reload":
		s.step(PolicyChanged{Policy: s.takePolicy()})
	case "recovered":
		s.step(Recovered{Saved: s.saved})
	case "wait":
		s.wait(s.duration(a.words[0]))
	case "tick":
		s.step(Tick{})
	case "ask":
		s.ask(a)
	case "beat":
		s.beat(a)
	case "claim":
		s.claimFound(a)
	case "verdict":
		s.verdictFound(a)
	case "done":
		s.done(a)
	case "cancel":
		s.tokens++
		s.step(Cancel{Token: s.tokens, ID: s.number(a.words[0])})
	case "status":
		s.status()
	case "explain":
		s.explain(a)
	case "where":
		s.where(a)
	default:
		s.answer(name, a)
	}
}

// answer carries out the lines that answer an action.
func (s *script) answer(name string, a args) {
	id, attempt := s.attempt(a.words[0])
	if what := name + " " + a.words[0]; (name == "stored" || name == "ruled") && !s.open[what] {
		s.fail("%s: not asked for, or answered already; so far:\n%s", what, s.out.String())
	} else {
		delete(s.open, what)
	}
	switch name {
	case "stored":
		s.step(HandedOut{ID: id, Attempt: attempt, Seq: seqOf(id, attempt)})
	case "ruled":
		v := s.verdict[id]
		v.ReplyTo = a.named["reply"]
		s.step(VerdictStored{Seq: verdictSeq + id, Verdict: v})
	case "ended":
		s.step(Ended{ID: id})
	case "synced":
		s.step(DoneSynced{Token: id})
	case "checked":
		s.step(ClaimChecked{ID: id, Claim: seqOf(id, attempt), Present: a.has("present")})
	case "started", "prefilled", "first":
		h := s.claims[a.words[0]]
		kind := map[string]wire.EventKind{"started": wire.EventStarted, "prefilled": wire.EventPrefilled, "first": wire.EventFirstToken}[name]
		s.step(Progress{wire.Event{Kind: kind, Worker: h.Worker, Incarnation: h.Incarnation, ID: id, Attempt: attempt}})
	default:
		s.fail("unknown event %q", name)
	}
}

func (s *script) start(a args) {
	s.verdict, s.open = map[uint64]wire.Verdict{}, map[string]bool{}
	s.arb = New(Config{
		Policy: s.takePolicy(), Epoch: max(1, s.number(a.named["epoch"])), Guards: int(s.number(a.named["guards"])),
		Overload: s.overload(a),
	})
}

// overload reads kv=0.9 waiting=3 prefill=1000.
func (s *script) overload(a args) Overload {
	o := Overload{Waiting: int64(s.number(a.named["waiting"])), PrefillTokens: int64(s.number(a.named["prefill"]))}
	if kv := a.named["kv"]; kv != "" {
		var err error
		if o.KV, err = strconv.ParseFloat(kv, 64); err != nil {
			s.fail("%v", err)
		}
	}
	return o
}

func (s *script) ask(a args) {
	ev := Arrived{ID: s.number(a.words[0]), At: s.now.Add(-s.duration(a.named["age"])), Request: s.request(a)}
	if a.has("unreadable") {
		ev.Refusal = &wire.Refusal{Reason: wire.InvalidRequest, Detail: "Fairlead-TTL: \"soon\"; want a duration"}
	}
	s.step(ev)
}

func (s *script) request(a args) wire.Request {
	q := wire.Request{
		Class: a.named["class"], Worker: a.named["worker"], Model: a.named["model"], Rank: wire.AnyRank,
		Allow: a.list("allow"), Require: a.list("require"), Prefer: a.list("prefer"),
		TTL: s.duration(a.named["ttl"]), Input: 100, NoQueue: a.has("no-queue"),
		Tenant: a.named["tenant"], Cached: uint32(s.number(a.named["cached"])), Strict: uint32(s.number(a.named["strict"])),
	}
	if a.named["input"] != "" {
		q.Input = uint32(s.number(a.named["input"]))
	}
	if a.named["rank"] != "" {
		q.Rank = int32(s.number(a.named["rank"]))
	}
	if a.has("soft") {
		q.Pin = wire.PinPrefer
	}
	q.Retry = map[string]wire.Retry{"always": wire.RetryAlways, "never": wire.RetryNever}[a.named["retry"]]
	return q
}

// explain is "explain 7", or "explain new" with what ask takes.
func (s *script) explain(a args) {
	var x wire.Explanation
	if a.words[0] == "new" {
		x = s.arb.ExplainNew(s.request(a))
	} else {
		x = s.arb.Explain(s.number(a.words[0]))
	}
	fmt.Fprintf(&s.out, "  %s%s %s: %s\n", x.State, x.Prospect, x.Reason, x.Why)
	if x.Class != "" {
		fmt.Fprintf(&s.out, "    class %s, cost %d, lane %s, position %d behind %d tokens, %s\n", x.Class, x.Cost, x.Lane, x.Position, x.Ahead, x.Key)
	}
	for _, l := range x.Limits {
		fmt.Fprintf(&s.out, "    %s: %d, now %d of %d\n", l.Limit, l.PerWorker, l.Current, l.Allowed)
	}
	for _, w := range x.Workers {
		fmt.Fprintf(&s.out, "    %s: eligible %t, busy %t; %s\n", w.Worker, w.Eligible, w.Busy, w.Why)
	}
	if err := s.arb.invariants(); err != nil {
		s.fail("%v", err)
	}
}

// beat sends a heartbeat; what is not said is as in the last one of the worker,
// but for the claims in flight and a hold.
func (s *script) beat(a args) {
	name, incarnation := s.worker(a.words[0])
	h := s.beats[a.words[0]]
	if h == nil {
		h = &wire.Heartbeat{Worker: name, Incarnation: incarnation, IntervalMS: 1000, Healthy: true, Models: []string{"m"}, Ranks: 1, Slots: 1, Speed: 1000}
		s.beats[a.words[0]] = h
	}
	h.Seq++
	s.describe(h, a)
	beat := *h
	if a.named["seq"] != "" {
		beat.Seq = s.number(a.named["seq"])
	}
	beat.HoldMS = uint32(s.duration(a.named["hold"]).Milliseconds())
	for _, f := range a.list("flight") {
		f, first := strings.CutSuffix(f, "!")
		f, prefilled := strings.CutSuffix(f, "~")
		id, attempt := s.attempt(f)
		beat.InFlight = append(beat.InFlight, wire.InFlight{ID: id, Attempt: attempt, Claim: seqOf(id, attempt), First: first, Prefilled: prefilled})
	}
	s.step(Beat{beat})
}

func (s *script) describe(h *wire.Heartbeat, a args) {
	for key, value := range a.named {
		switch key {
		case "models":
			h.Models = a.list(key)
		case "taints":
			h.Taints = a.list(key)
		case "slots":
			h.Slots = uint32(s.number(value))
		case "ranks":
			h.Ranks = uint32(s.number(value))
		case "maxb":
			h.MaxBatched = uint32(s.number(value))
		case "speed":
			h.Speed, _ = strconv.ParseFloat(value, 64)
		case "learned":
			h.Learned, _ = strconv.ParseFloat(value, 64)
		case "kv", "waiting", "prefill":
			s.measure(h, key, value)
		case "drain":
			h.Draining = value == "yes"
		case "healthy":
			h.Healthy = value == "yes"
		}
	}
}

// measure sets what an engine reports of its load; - is nothing.
func (s *script) measure(h *wire.Heartbeat, key, value string) {
	switch {
	case key == "prefill":
		h.PrefillTokens = s.number(value)
	case value == "-":
		h.EngineKV, h.EngineWaiting = nil, nil
	case key == "kv":
		kv, err := strconv.ParseFloat(value, 64)
		if err != nil {
			s.fail("%v", err)
		}
		h.EngineKV = &kv
	default:
		h.EngineWaiting = new(uint32(s.number(value)))
	}
}

// claimFound is "claim w1@20 7.2 class=a lost=1".
func (s *script) claimFound(a args) {
	name, incarnation := s.worker(a.words[0])
	id, attempt := s.attempt(a.words[1])
	c := wire.Claim{ID: id, Attempt: attempt, Lost: uint32(s.number(a.named["lost"])), Class: a.named["class"], Model: "m", Rank: wire.AnyRank}
	if a.named["rank"] != "" {
		c.Rank = int32(s.number(a.named["rank"]))
	}
	s.claims[a.words[1]] = HandOut{Worker: name, Incarnation: incarnation, Claim: c}
	s.step(ClaimFound{Seq: seqOf(id, attempt), Worker: name, Incarnation: incarnation, Claim: c})
}

func (s *script) verdictFound(a args) {
	id := s.number(a.words[0])
	s.step(VerdictFound{Seq: verdictSeq + id, Verdict: wire.Verdict{ID: id, Epoch: 1, Reason: wire.Reason(a.named["reason"])}})
}

// done is "done 7.2 ok": the report comes from the worker that has the claim.
func (s *script) done(a args) {
	id, attempt := s.attempt(a.words[0])
	h, ok := s.claims[a.words[0]]
	if !ok {
		s.fail("no claim %s", a.words[0])
	}
	s.dones++
	d := wire.Done{
		ID: id, Attempt: attempt, Lost: h.Claim.Lost, Claim: seqOf(id, attempt), Worker: h.Worker, Incarnation: h.Incarnation,
		Status: wire.Status(a.words[1]), RetryAfterMS: s.duration(a.named["retry"]).Milliseconds(),
	}
	if took := s.duration(a.named["took"]); took > 0 { // half of it to the first token
		d.FirstMS, d.TotalMS = took.Milliseconds()/2, took.Milliseconds()
	}
	if took := s.duration(a.named["whole"]); took > 0 { // all of it
		d.FirstMS, d.TotalMS = took.Milliseconds(), took.Milliseconds()
	}
	if u := a.list("usage"); len(u) == 3 { // prompt, cached, output
		d.Usage = wire.Usage{Prompt: s.count(u[0]), Cached: s.count(u[1]), Output: s.count(u[2])}
	}
	s.step(Done{Seq: s.dones, Done: d})
}

// status prints what is not at rest.
func (s *script) status() {
	st := s.arb.Status(s.now)
	for _, c := range st.Classes {
		fmt.Fprintf(&s.out, "  class %s of %q: %d queued, %d running, deficit %d", c.Class, c.Model, c.Queued, c.Running, c.Deficit)
		if c.Tenants > 0 {
			fmt.Fprintf(&s.out, ", %d tenants, Jain %.2f", c.Tenants, c.Jain)
		}
		s.out.WriteString("\n")
	}
	for _, w := range st.Workers {
		fmt.Fprintf(&s.out, "  worker %s@%d: %s, %d of %d slots, %d prefill tokens\n", w.Worker, w.Incarnation, w.State, w.Used, w.Slots, w.PrefillTokens)
	}
	if err := s.arb.leftover(); err == nil {
		s.out.WriteString("  nothing is left\n")
	}
}

func (s *script) where(a args) {
	for _, r := range s.arb.Requests(s.now, []uint64{s.number(a.words[0])}) {
		fmt.Fprintf(&s.out, "  %s, class %q, attempt %d, worker %q\n", r.State, r.Class, r.Attempt, r.Worker)
	}
}
