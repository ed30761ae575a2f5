package check

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"fairlead/wire"
)

// Rule is a promise that a run can break.
type Rule string

// The rules.
const (
	Lost     Rule = "lost"     // an acknowledged request has no outcome
	Mixed    Rule = "mixed"    // a result is made of two attempts, or is not whole
	Stale    Rule = "stale"    // a leader that was superseded stored a claim or a verdict
	Attempts Rule = "attempts" // attempt numbers are not 1, 2, 3, …
	Outcomes Rule = "outcomes" // the client was told something else than the store says
	LeftOver Rule = "left"     // something remains that should have gone
)

// Violation is one broken promise.
type Violation struct {
	Rule Rule
	ID   uint64 // of the request, 0 none
	What string
}

// String is one line for people.
func (v Violation) String() string {
	if v.ID == 0 {
		return fmt.Sprintf("%s: %s", v.Rule, v.What)
	}
	return fmt.Sprintf("%s: request %d: %s", v.Rule, v.ID, v.What)
}

// Report is the judgement of a run.
type Report struct {
	Violations   []Violation
	Acknowledged int
	Completed    int
	Failed       map[wire.Reason]int
	Again        int           // requests that were handed out more than once
	Twice        int           // requests that more than one execution ended
	Both         int           // dead letters whose client had an answer
	Gap          time.Duration // the longest time without a completion
	GapFrom      time.Duration // when it began
	Taped        int           // messages of WORK and DONE heard
	Missed       uint64        // and not heard
}

// Count is how often a rule was broken.
func (r *Report) Count(rule Rule) int {
	n := 0
	for _, v := range r.Violations {
		if v.Rule == rule {
			n++
		}
	}
	return n
}

// judge gathers a report.
type judge struct {
	h      *History
	report Report
	ends   map[uint64]*ends // by id
}

// ends is what the record says of one request.
type ends struct {
	claims   []Claim
	finals   map[uint64]struct{} // claims with a DONE that ends the request
	verdicts int
	results  []Message
	dead     bool
}

// Judge checks a history against every rule.
func Judge(h *History) *Report {
	j := &judge{h: h, report: Report{Failed: map[wire.Reason]int{}}, ends: map[uint64]*ends{}}
	j.gather()
	for i := range h.Receipts {
		j.receipt(&h.Receipts[i])
	}
	j.stale()
	j.attempts()
	j.executions()
	j.left()
	j.gap()
	j.report.Taped = h.Tape.Work.Len() + h.Tape.Done.Len()
	j.report.Missed = h.Tape.Work.Gaps() + h.Tape.Done.Gaps()
	return &j.report
}

func (j *judge) of(id uint64) *ends {
	e := j.ends[id]
	if e == nil {
		e = &ends{finals: map[uint64]struct{}{}}
		j.ends[id] = e
	}
	return e
}

func (j *judge) gather() {
	t := &j.h.Tape
	slices.SortFunc(t.Claims, func(a, b Claim) int { return cmp.Compare(a.Seq, b.Seq) })
	for _, c := range t.Claims {
		e := j.of(c.ID)
		e.claims = append(e.claims, c)
	}
	for _, d := range t.Dones {
		if d.Status == wire.StatusOK || d.Status == wire.StatusError {
			j.of(d.ID).finals[d.Claim] = struct{}{}
		}
	}
	for _, v := range t.Verdicts {
		j.of(v.ID).verdicts++
	}
	for _, m := range j.h.Results {
		e := j.of(m.ID)
		e.results = append(e.results, m)
	}
	for _, id := range j.h.Dead {
		j.of(id).dead = true
	}
}

func (j *judge) violate(rule Rule, id uint64, format string, args ...any) {
	j.report.Violations = append(j.report.Violations, Violation{Rule: rule, ID: id, What: fmt.Sprintf(format, args...)})
}

// receipt checks what became of one acknowledged request.
func (j *judge) receipt(r *Receipt) {
	j.report.Acknowledged++
	o := r.Outcome
	if o == nil {
		j.violate(Lost, r.ID, "the client waits in vain; %s", j.describe(r))
		return
	}
	if o.Reason == "" {
		j.report.Completed++
		j.answer(r)
	} else {
		j.report.Failed[o.Reason]++
	}
	e := j.of(r.ID)
	j.explained(r, e)
	if r.Stored {
		j.stored(r, e)
	}
	if e.dead && o.Reason == "" {
		j.report.Both++
	}
	if what := r.unexpected(); what != "" {
		j.violate(Outcomes, r.ID, "%s: %s", what, o.Detail)
	}
	if r.Poison && o.Reason == "" {
		j.violate(Outcomes, r.ID, "it kills whoever starts it, and has a result; %s", j.describe(r))
	}
}

// describe says what is recorded of a request.
func (j *judge) describe(r *Receipt) string {
	e := j.of(r.ID)
	kind := "inbox"
	if r.Stored {
		kind = "stored"
	}
	finals := 0
	for _, m := range e.results {
		if m.Final {
			finals++
		}
	}
	return fmt.Sprintf("%s, %d claims, %d done, %d verdicts, %d messages and %d finals in RES, dead %t",
		kind, len(e.claims), len(e.finals), e.verdicts, len(e.results), finals, e.dead)
}

// unexpected says what is wrong with a failure that this request cannot have.
func (r *Receipt) unexpected() string {
	switch r.Outcome.Reason {
	case wire.InvalidRequest, wire.TooLarge, wire.Displaced, wire.ShuttingDown, wire.Shed:
		return "nothing about it warrants " + string(r.Outcome.Reason)
	case wire.DeadlineExceeded:
		if !r.TTL {
			return "it has no deadline to exceed"
		}
	}
	return ""
}

// explained checks that an end which nobody heard was one: result_lost says
// only that the request is over, and must not hide that it was lost.
func (j *judge) explained(r *Receipt, e *ends) {
	if r.Outcome.Reason != wire.ResultLost {
		return
	}
	switch {
	case r.Stored:
		j.violate(Lost, r.ID, "its result was to be stored, and the client found none: %s", r.Outcome.Detail)
	case len(e.finals) == 0 && e.verdicts == 0 && j.h.Tape.Work.Gaps()+j.h.Tape.Done.Gaps() == 0:
		j.violate(Lost, r.ID, "the leader says that it has ended, and nothing has ended it")
	}
}

// gap finds the longest time without a completion.
func (j *judge) gap() {
	var at []time.Duration
	for _, r := range j.h.Receipts {
		if r.Outcome != nil && r.Outcome.Reason == "" {
			at = append(at, r.Outcome.At)
		}
	}
	slices.Sort(at)
	for i := 1; i < len(at); i++ {
		if d := at[i] - at[i-1]; d > j.report.Gap {
			j.report.Gap, j.report.GapFrom = d, at[i-1]
		}
	}
}

// left checks that nothing remains.
func (j *judge) left() {
	for what, n := range j.h.Left.Streams {
		if n != 0 {
			j.violate(LeftOver, 0, "%d messages on %s", n, what)
		}
	}
	for what, n := range j.h.Left.Bookings {
		if n != 0 {
			j.violate(LeftOver, 0, "%s is %d, want 0", what, n)
		}
	}
	for _, what := range j.h.Left.Odd {
		j.violate(LeftOver, 0, "%s", what)
	}
}
