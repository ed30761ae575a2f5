package check

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"fairlead/wire"
)

// sound is a history in which nothing is wrong: request 1 is stored and ran once,
// request 2 went to an inbox and ran twice, request 3 was cancelled, request 4
// is a dead letter; two leaders.
func sound() *History {
	h := &History{
		Receipts: []Receipt{
			{ID: 1, Stored: true, Tokens: 2, Outcome: result(1, 1, 2)},
			{ID: 2, Tokens: 2, Outcome: result(2, 2, 2)},
			{ID: 3, Cancelled: true, Outcome: &Outcome{At: 3 * time.Second, Reason: wire.Cancelled}},
			{ID: 4, Stored: true, Poison: true, Outcome: &Outcome{At: 9 * time.Second, Reason: wire.AttemptsExhausted}},
		},
		Dead: []uint64{4},
		Left: Left{Streams: map[string]uint64{"REQ": 0}, Bookings: map[string]int64{"slots": 0}},
	}
	t := &h.Tape
	t.Guards = []Guard{{11, 10}, {12, 10}, {31, 30}, {32, 30}}
	t.Claims = []Claim{claim(13, 1, 1, 10), claim(14, 2, 1, 10), claim(33, 2, 2, 30), claim(34, 4, 1, 30)}
	t.Verdicts = []Verdict{{Seq: 15, Verdict: wire.Verdict{ID: 3, Epoch: 10}}, {Seq: 35, Verdict: wire.Verdict{ID: 4, Epoch: 30}}}
	for seq := uint64(10); seq <= 35; seq++ {
		t.Work.Add(seq)
	}
	t.Dones = []Done{done(1, 1, 13), done(2, 2, 33)}
	t.Done.Add(1)
	t.Done.Add(2)
	h.Results = append(stored(1, 1, 13, 2), stored(4, 0, 0, 0)...)
	h.Results[len(h.Results)-1].Failure = &wire.Failure{Reason: wire.AttemptsExhausted}
	return h
}

func result(id uint64, attempt uint32, tokens int) *Outcome {
	o := &Outcome{At: time.Duration(id) * time.Second, Attempt: attempt, Output: int64(tokens), Stream: true}
	for i := range tokens {
		o.Shown = append(o.Shown, Piece{Index: i, Attempt: attempt, Engine: fmt.Sprintf("mock-%d-%d", id, attempt), Token: true})
	}
	return o
}

func claim(seq, id uint64, attempt uint32, epoch uint64) Claim {
	return Claim{Seq: seq, Claim: wire.Claim{ID: id, Attempt: attempt, Epoch: epoch}}
}

func done(seq, id, claim uint64) Done {
	return Done{Seq: seq, Done: wire.Done{ID: id, Claim: claim, Status: wire.StatusOK}}
}

// stored is what one execution leaves in RES: some chunks and a final message.
func stored(id uint64, attempt uint32, claim uint64, chunks int) []Message {
	var list []Message
	for i := range chunks + 1 {
		m := Message{Seq: claim*100 + uint64(i), ResultMessage: wire.ResultMessage{Origin: wire.Origin{ID: id, Attempt: attempt, Claim: claim}, Index: i}}
		if m.Final = i == chunks; !m.Final {
			m.Engine = fmt.Sprintf("mock-%d-%d", id, attempt)
		}
		list = append(list, m)
	}
	return list
}

func TestSoundHistory(t *testing.T) {
	r := Judge(sound())
	for _, v := range r.Violations {
		t.Errorf("a sound history breaks %v", v)
	}
	if r.Acknowledged != 4 || r.Completed != 2 || r.Failed[wire.Cancelled] != 1 || r.Failed[wire.AttemptsExhausted] != 1 {
		t.Errorf("counts %+v", r)
	}
	if r.Again != 1 || r.Twice != 0 || r.Both != 0 || r.Missed != 0 || r.Gap != time.Second {
		t.Errorf("counts %+v", r)
	}
}

// Each violation is made by one change of the sound history, and found as what
// it is and nothing else.
func TestViolations(t *testing.T) {
	for name, test := range map[string]struct {
		rule  Rule
		id    uint64
		spoil func(*History)
	}{
		"no outcome":              {Lost, 1, func(h *History) { h.Receipts[0].Outcome = nil }},
		"a stored result is lost": {Lost, 4, func(h *History) { h.Receipts[3].Outcome.Reason = wire.ResultLost; h.Results = h.Results[:3] }},
		"it ended, and nothing ended it": {Lost, 3, func(h *History) {
			h.Receipts[2].Outcome.Reason = wire.ResultLost
			h.Tape.Verdicts = h.Tape.Verdicts[1:]
		}},
		"two executions in one answer":    {Mixed, 2, func(h *History) { h.Receipts[1].Outcome.Shown[0].Engine = "mock-2-1" }},
		"two attempts in one answer":      {Mixed, 2, func(h *History) { h.Receipts[1].Outcome.Shown[1].Attempt = 1 }},
		"an answer of another request":    {Mixed, 2, func(h *History) { o := result(1, 2, 2); h.Receipts[1].Outcome.Shown = o.Shown }},
		"a chunk is missing":              {Mixed, 2, func(h *History) { o := h.Receipts[1].Outcome; o.Shown = o.Shown[1:] }},
		"the end is missing":              {Mixed, 2, func(h *History) { o := h.Receipts[1].Outcome; o.Shown = o.Shown[:1] }},
		"an empty answer":                 {Mixed, 2, func(h *History) { h.Receipts[1].Outcome.Shown = nil }},
		"fewer tokens than asked for":     {Mixed, 2, func(h *History) { h.Receipts[1].Tokens = 3 }},
		"a hole in the store":             {Mixed, 1, func(h *History) { h.Results = append(h.Results[:1], h.Results[2:]...) }},
		"a foreign message in the store":  {Mixed, 1, func(h *History) { h.Results[1].Engine = "mock-1-2" }},
		"a claim of an old leader":        {Stale, 2, func(h *History) { h.Tape.Claims[2].Epoch = 10 }},
		"a verdict of an old leader":      {Stale, 4, func(h *History) { h.Tape.Verdicts[1].Epoch = 10 }},
		"guards of an old leader":         {Stale, 0, func(h *History) { h.Tape.Guards = append(h.Tape.Guards, Guard{36, 10}) }},
		"an attempt twice":                {Attempts, 2, func(h *History) { h.Tape.Claims[2].Attempt = 1 }},
		"an attempt left out":             {Attempts, 2, func(h *History) { h.Tape.Claims[2].Attempt = 3 }},
		"a first attempt that is not 1":   {Attempts, 4, func(h *History) { h.Tape.Claims[3].Attempt = 2 }},
		"the client was told otherwise":   {Outcomes, 4, func(h *History) { h.Receipts[3].Outcome.Reason = wire.WorkerGone }},
		"a result that the store denies":  {Outcomes, 1, func(h *History) { h.Results = h.Results[3:] }},
		"a deadline that was never given": {Outcomes, 3, func(h *History) { h.Receipts[2].Outcome.Reason = wire.DeadlineExceeded }},
		"a refusal without a cause":       {Outcomes, 3, func(h *History) { h.Receipts[2].Outcome.Reason = wire.InvalidRequest }},
		"a stream is not empty":           {LeftOver, 0, func(h *History) { h.Left.Streams["REQ"] = 1 }},
		"a booking remains":               {LeftOver, 0, func(h *History) { h.Left.Bookings["slots"] = 1 }},
		"a child does not end":            {LeftOver, 0, func(h *History) { h.Left.Odd = []string{"broker b1 does not end"} }},
	} {
		t.Run(name, func(t *testing.T) {
			h := sound()
			test.spoil(h)
			r := Judge(h)
			if r.Count(test.rule) == 0 {
				t.Fatalf("not found; found %v", r.Violations)
			}
			for _, v := range r.Violations {
				if v.Rule != test.rule || v.ID != test.id {
					t.Errorf("also found: %v", v)
				}
			}
		})
	}
}

func TestPoisonMustNotSucceed(t *testing.T) {
	h := sound()
	h.Receipts[0].Poison = true
	if r := Judge(h); r.Count(Outcomes) != 1 {
		t.Errorf("found %v", r.Violations)
	}
}

// A number that may be in a gap of the tape is no violation.
func TestGapsForgive(t *testing.T) {
	h := sound()
	h.Tape.Claims[2].Attempt = 3
	h.Tape.Work = Seqs{}
	for seq := uint64(10); seq <= 35; seq++ {
		if seq != 20 {
			h.Tape.Work.Add(seq)
		}
	}
	r := Judge(h)
	if len(r.Violations) != 0 || r.Missed != 1 {
		t.Errorf("missed %d, found %v", r.Missed, r.Violations)
	}
}

// What the client ends by its own rules need not be in the store.
func TestClientsOwnEnds(t *testing.T) {
	for _, o := range []*Outcome{
		{Reason: wire.DeadlineExceeded},
		{Reason: wire.WorkerLost, Attempt: 1},
	} {
		h := sound()
		h.Receipts[0].Outcome, h.Receipts[0].TTL = o, true
		if r := Judge(h); len(r.Violations) != 0 {
			t.Errorf("%s: found %v", o.Reason, r.Violations)
		}
	}
}

func TestTwiceAndBoth(t *testing.T) {
	h := sound()
	h.Tape.Dones = append(h.Tape.Dones, done(3, 2, 14))
	h.Dead = append(h.Dead, 2)
	if r := Judge(h); r.Twice != 1 || r.Both != 1 || len(r.Violations) != 0 {
		t.Errorf("twice %d, both %d, found %v", r.Twice, r.Both, r.Violations)
	}
}

func TestSeqs(t *testing.T) {
	var s Seqs
	for _, seq := range []uint64{9, 5, 5, 3, 8} {
		s.Add(seq)
	}
	for _, test := range []struct{ after, before, want uint64 }{{3, 5, 1}, {5, 8, 2}, {8, 9, 0}, {3, 9, 3}, {9, 3, 0}} {
		if got := s.Missed(test.after, test.before); got != test.want {
			t.Errorf("between %d and %d: %d missed, want %d", test.after, test.before, got, test.want)
		}
	}
	if s.Gaps() != 3 {
		t.Errorf("%d gaps, want 3", s.Gaps())
	}
}

func TestViolationReadsWell(t *testing.T) {
	if s := (Violation{Rule: Lost, ID: 7, What: "gone"}).String(); !strings.Contains(s, "request 7") {
		t.Error(s)
	}
}
