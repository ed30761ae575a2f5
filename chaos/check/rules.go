package check

import (
	"cmp"
	"fmt"
	"slices"

	"fairlead/wire"
)

// answer checks that a result is one execution's, and all of it.
func (j *judge) answer(r *Receipt) {
	o := r.Outcome
	engine := fmt.Sprintf("mock-%d-%d", r.ID, o.Attempt)
	tokens := int64(0)
	for i, p := range o.Shown {
		switch {
		case p.Engine != engine:
			j.violate(Mixed, r.ID, "piece %d is of %q, the result of %q", i, p.Engine, engine)
			return
		case o.Stream && p.Attempt != o.Attempt:
			j.violate(Mixed, r.ID, "chunk %d is of attempt %d, the result of attempt %d", i, p.Attempt, o.Attempt)
			return
		case o.Stream && p.Index != i:
			j.violate(Mixed, r.ID, "chunk %d comes as number %d", p.Index, i)
			return
		}
		if p.Token {
			tokens++
		}
	}
	switch {
	case len(o.Shown) == 0:
		j.violate(Mixed, r.ID, "its result is empty")
	case o.Output != r.Tokens:
		j.violate(Mixed, r.ID, "%d tokens, asked for %d", o.Output, r.Tokens)
	case o.Stream && tokens != o.Output:
		j.violate(Mixed, r.ID, "%d tokens were shown of %d", tokens, o.Output)
	}
}

// stored checks one request's messages in RES: whole executions, and the first
// final message is what the client was told.
func (j *judge) stored(r *Receipt, e *ends) {
	first := j.whole(r.ID, e.results)
	o := r.Outcome
	if first == nil {
		if o.Attempt != 0 || o.Reason == "" {
			j.violate(Outcomes, r.ID, "the client was told %q of attempt %d, and no final message is stored", o.Reason, o.Attempt)
		}
		return
	}
	var reason wire.Reason
	if first.Failure != nil {
		reason = first.Failure.Reason
	}
	if reason == o.Reason || j.own(r) {
		return
	}
	j.violate(Outcomes, r.ID, "the client was told %q (%s), the first final message says %q", o.Reason, o.Detail, reason)
}

// own reports whether the client ended the request by its own rules: by its
// clock, or because it had shown one attempt when another began.
func (j *judge) own(r *Receipt) bool {
	o := r.Outcome
	return o.Reason == wire.DeadlineExceeded && o.Attempt == 0 || o.Reason == wire.WorkerLost && !r.Always
}

// whole checks that the messages of each execution are complete and in order,
// and returns the first final one.
func (j *judge) whole(id uint64, list []Message) (first *Message) {
	next := map[uint64]int{}
	for i := range list {
		m := &list[i]
		switch {
		case m.Index > next[m.Claim]:
			j.violate(Mixed, id, "RES: message %d of claim %d follows %d others", m.Index, m.Claim, next[m.Claim])
			next[m.Claim] = m.Index + 1
		case m.Index == next[m.Claim]:
			next[m.Claim]++
		}
		if want := fmt.Sprintf("mock-%d-%d", id, m.Attempt); m.Engine != "" && m.Engine != want {
			j.violate(Mixed, id, "RES: a message of claim %d is of %q, want %q", m.Claim, m.Engine, want)
		}
		if m.Final && first == nil {
			first = m
		}
	}
	return first
}

// stale checks the fence: once guards of an epoch are stored, no lower epoch
// stores a claim or a verdict.
func (j *judge) stale() {
	t := &j.h.Tape
	slices.SortFunc(t.Guards, func(a, b Guard) int { return cmp.Compare(a.Seq, b.Seq) })
	for i := 1; i < len(t.Guards); i++ {
		if t.Guards[i].Epoch < t.Guards[i-1].Epoch {
			j.violate(Stale, 0, "guards of epoch %d are stored after those of %d", t.Guards[i].Epoch, t.Guards[i-1].Epoch)
		}
	}
	for _, c := range t.Claims {
		if now := j.epochAt(c.Seq); c.Epoch < now {
			j.violate(Stale, c.ID, "claim %d of epoch %d is stored in epoch %d", c.Seq, c.Epoch, now)
		}
	}
	for _, v := range t.Verdicts {
		if now := j.epochAt(v.Seq); v.Epoch < now {
			j.violate(Stale, v.ID, "verdict %d of epoch %d is stored in epoch %d", v.Seq, v.Epoch, now)
		}
	}
}

// epochAt is the epoch of the last guard before a sequence.
func (j *judge) epochAt(seq uint64) uint64 {
	g := j.h.Tape.Guards
	i, _ := slices.BinarySearchFunc(g, seq, func(g Guard, s uint64) int { return cmp.Compare(g.Seq, s) })
	if i == 0 {
		return 0
	}
	return g[i-1].Epoch
}

// attempts checks that the claims of each request are numbered 1, 2, 3, … in the
// order in which they were stored. A number that is missing is forgiven when the
// tape has a gap where its claim may be.
func (j *judge) attempts() {
	for id, e := range j.ends {
		before := Claim{}
		for _, c := range e.claims {
			switch {
			case c.Attempt == before.Attempt+1:
			case c.Attempt <= before.Attempt:
				j.violate(Attempts, id, "claim %d is attempt %d, after claim %d, which is attempt %d", c.Seq, c.Attempt, before.Seq, before.Attempt)
			case j.h.Tape.Work.Missed(before.Seq, c.Seq) == 0 || before.Seq == 0 && j.h.Tape.Work.Gaps() == 0:
				j.violate(Attempts, id, "claim %d is attempt %d, and the one before is %d", c.Seq, c.Attempt, before.Attempt)
			}
			before = c
		}
	}
}

// executions counts requests that ran again.
func (j *judge) executions() {
	for _, e := range j.ends {
		if len(e.claims) > 1 {
			j.report.Again++
		}
		finals := map[uint64]struct{}{}
		for claim := range e.finals {
			finals[claim] = struct{}{}
		}
		for _, m := range e.results {
			if m.Final && m.Claim != 0 {
				finals[m.Claim] = struct{}{}
			}
		}
		if len(finals) > 1 {
			j.report.Twice++
		}
	}
}
