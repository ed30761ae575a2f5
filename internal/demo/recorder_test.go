package demo

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead/wire"
)

// two is a scenario of two classes with so many requests of each.
func two(n int) *Scenario {
	s := &Scenario{Classes: []Class{{"premium", 0.8}, {"regular", 0.2}}, Duel: &Duel{"premium", "regular", 4}}
	for range n {
		s.Requests = append(s.Requests, Request{Name: "premium", Input: 500, Cached: 100}, Request{Name: "regular", Class: 1, Input: 10})
	}
	return s
}

// at is a moment so many milliseconds after the start.
func at(ms int) time.Time { return time.UnixMilli(1_000_000 + int64(ms)) }

func TestRecorderFollowsARequest(t *testing.T) {
	s := two(1)
	r := NewRecorder(s)
	look := func(queued, running, done int) {
		t.Helper()
		c := r.Figures().Classes[0]
		if got, want := [3]int{c.Queued, c.Running, c.Done}, [3]int{queued, running, done}; got != want {
			t.Errorf("queued, running, done are %v, want %v", got, want)
		}
	}
	r.Asked()
	look(0, 0, 0)
	r.Acknowledged(7, &s.Requests[0], at(10))
	look(1, 0, 0)
	r.HandedOut(7, at(40))
	look(0, 1, 0)
	r.HandedOut(7, at(90)) // another attempt: the wait was over
	r.FirstChunk(7, at(110))
	r.Final(7)
	r.Ended(7, true)
	look(0, 0, 1)
	c := r.Figures().Classes[0]
	if c.Tokens != 400 || c.Served != 400 || c.Requests != 1 {
		t.Errorf("%d requests, %d tokens, %d served; want 1, 400, 400", c.Requests, c.Tokens, c.Served)
	}
	for name, d := range map[string][2]time.Duration{
		"wait": {c.Wait.P50, 30 * time.Millisecond}, "ttft": {c.TTFT.P99, 100 * time.Millisecond},
	} {
		if diff := (d[0] - d[1]).Abs(); diff > d[1]/500 {
			t.Errorf("%s is %v, want %v", name, d[0], d[1])
		}
	}
}

func TestRecorderTakesAClaimBeforeTheReceipt(t *testing.T) {
	s := two(1)
	r := NewRecorder(s)
	r.HandedOut(7, at(5))
	r.Final(7)
	if f := r.Figures(); f.Acknowledged != 0 || f.Open() != 0 {
		t.Errorf("%d acknowledged before any receipt, %d open", f.Acknowledged, f.Open())
	}
	r.Acknowledged(7, &s.Requests[1], at(3))
	f := r.Figures()
	if c := f.Classes[1]; f.Acknowledged != 1 || c.Running != 1 || c.Wait.P50 == 0 {
		t.Errorf("after the receipt %d acknowledged, class %+v; want one running, with its wait", f.Acknowledged, c)
	}
}

func TestRecorderCountsLostFailedAndDuplicated(t *testing.T) {
	s := two(2)
	r := NewRecorder(s)
	for i := range s.Requests {
		r.Acknowledged(uint64(i), &s.Requests[i], at(0))
	}
	r.Ended(0, true)
	r.Ended(1, false)
	for _, id := range []uint64{0, 1, 0, 0, 2} {
		r.Final(id)
	}
	f := r.Figures()
	if got, want := [5]int{f.Acknowledged, f.Completed, f.Failed, f.Open(), f.Duplicated}, [5]int{4, 1, 1, 2, 1}; got != want {
		t.Errorf("acknowledged, completed, failed, lost, duplicated are %v, want %v", got, want)
	}
	if err := f.verdict(); err == nil {
		t.Error("two lost requests are no error")
	}
}

func TestDuelScore(t *testing.T) {
	for _, c := range []struct {
		order         string // of completions: p and r
		first, remain int
	}{
		{"", 0, 4},
		{"rrrr", 0, 4}, // no premium one has completed
		{"pppprrrr", 4, 4},
		{"pprprprr", 3, 2},
		{"rprprprp", 2, 0},
		{"pprpp", 3, 3},
	} {
		s := two(4)
		r := NewRecorder(s)
		next := map[rune]uint64{'p': 0, 'r': 1}
		for i := range s.Requests {
			r.Acknowledged(uint64(i), &s.Requests[i], at(0))
		}
		for _, class := range c.order {
			r.Final(next[class])
			next[class] += 2
		}
		if got := *r.Figures().Duel; got != (DuelFigures{c.first, c.remain}) {
			t.Errorf("%q: %+v, want %d and %d", c.order, got, c.first, c.remain)
		}
	}
}

func TestSharesAreTakenByClass(t *testing.T) {
	r := NewRecorder(two(1))
	r.Shares([]wire.ClassStatus{
		{Model: "", Class: "premium", Share: 0.1}, {Model: model, Class: "regular", Share: 0.3}, {Model: model, Class: "other", Share: 0.9},
	})
	f := r.Figures()
	if f.Classes[0].Share != 0 || f.Classes[1].Share != 0.3 {
		t.Errorf("shares %v and %v, want 0 and 0.3", f.Classes[0].Share, f.Classes[1].Share)
	}
}

func TestJSONIsOneLineOfTheAgreedFields(t *testing.T) {
	f := Figures{
		Acknowledged: 5, Completed: 2, Failed: 1, Duplicated: 1,
		Classes: []ClassFigures{{
			Class: Class{"conv", 0.75}, Requests: 5, Tokens: 900, Share: 0.74999,
			TTFT: Quantiles{1234567 * time.Nanosecond, 2 * time.Second}, Wait: Quantiles{P50: time.Millisecond},
		}},
	}
	for _, c := range []struct {
		duel *DuelFigures
		more string
	}{
		{nil, ""},
		{&DuelFigures{0, 240}, `,"premium_in_first_320":0,"regular_left_when_premium_drained":240`},
	} {
		var out bytes.Buffer
		f.Duel = c.duel
		if err := writeJSON(&out, &f); err != nil {
			t.Fatal(err)
		}
		want := `{"acknowledged":5,"completed":2,"failed":1,"lost":2,"duplicated":1,"classes":{"conv":{"requests":5,"uncached_tokens":900,` +
			`"token_share":0.75,"entitlement":0.75,"ttft_ms":{"p50":1.2,"p99":2000},"wait_ms":{"p50":1,"p99":0}}}` + c.more + "}\n"
		if diff := cmp.Diff(want, out.String()); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
		if !json.Valid(out.Bytes()) {
			t.Error("not JSON")
		}
	}
}
