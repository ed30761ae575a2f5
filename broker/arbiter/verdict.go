package arbiter

import (
	"unicode/utf8"

	"fairlead/wire"
)

// verdict is what the broker decided about a request, until it is stored.
type verdict struct {
	wire.Verdict
	cancels []uint64 // tokens of those who asked for it
}

// judge ends a request for a reason of the broker's own.
func (a *Arbiter) judge(r *request, reason wire.Reason, detail string) {
	a.refuse(r, wire.Verdict{Reason: reason, Detail: detail})
}

// maxDetail bounds what a verdict explains, bytes. It travels with the dead letter and in
// a header to the client; one that no message can carry could not be stored by any leader.
const maxDetail = 1 << 10

// clip shortens what people read to a number of bytes, between two characters.
func clip(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit] + "…"
}

// refuse ends a request with a verdict; the fields that name it are filled in.
func (a *Arbiter) refuse(r *request, v wire.Verdict) {
	a.leaveLane(r)
	v.Detail = clip(v.Detail, maxDetail)
	v.ID, v.Epoch, v.Class, v.Attempt = r.Seq, a.cfg.Epoch, r.cls.Name, r.attempt
	r.state = judged
	a.verdicts[r.Seq] = &verdict{Verdict: v}
	a.judged.push(r)
}

// sendVerdicts stores what was judged, as far as there are guards. When nothing
// is dispatchable it may take them all.
func (a *Arbiter) sendVerdicts(dry bool) {
	for a.judged.len() > 0 && a.free > 0 && (dry || a.storing < a.verdictShare()) {
		r := a.judged.pop()
		if r.state != judged {
			continue // it has finished after all
		}
		r.state = sentenced
		a.free--
		a.storing++
		a.emit(StoreVerdict{Model: r.ring().model, Verdict: a.verdicts[r.Seq].Verdict})
	}
}

// acquit takes a verdict back that is not being stored yet: the request has
// finished after all.
func (a *Arbiter) acquit(r *request) {
	v := a.verdicts[r.Seq]
	delete(a.verdicts, r.Seq)
	a.answer(v.cancels, r.Seq, wire.CancelDone)
}

func (a *Arbiter) verdictStored(ev VerdictStored) {
	a.free++
	a.storing--
	r := a.requests[ev.Verdict.ID]
	v := a.verdicts[ev.Verdict.ID]
	if r == nil || v == nil {
		return
	}
	delete(a.verdicts, r.Seq)
	a.answer(v.cancels, r.Seq, wire.CancelFound)
	claims := r.leftovers()
	if b := r.booking; b != nil {
		claims = append(claims, b.claim)
		if !b.settled {
			b.settled = true
			a.stop(b, string(v.Reason))
		}
	}
	a.end(r, End{Seq: ev.Seq, Verdict: ev.Verdict, Claims: claims})
}

func (a *Arbiter) end(r *request, act End) {
	r.state = ending
	r.cls.failed++
	a.emit(act)
}

func (a *Arbiter) ended(id uint64) {
	r := a.requests[id]
	if r == nil || r.state != ending {
		return
	}
	a.releaseKept(r)
	a.forget(r)
}

// cancel ends a request because its client asks.
func (a *Arbiter) cancel(ev Cancel) {
	tokens := []uint64{ev.Token}
	r := a.requests[ev.ID]
	switch {
	case a.found != nil:
		a.found.cancels = append(a.found.cancels, ev) // it may be read in a moment
	case r == nil && ev.ID >= a.lowest && ev.ID <= a.highest:
		a.answer(tokens, ev.ID, wire.CancelDone)
	case r == nil:
		a.answer(tokens, ev.ID, wire.CancelUnknown)
	case r.state == placing:
		r.booking.cancels = append(r.booking.cancels, ev.Token)
	case r.waits(), r.state == running:
		a.judgeCancel(r, tokens)
	case a.verdicts[ev.ID] != nil && a.verdicts[ev.ID].Reason == wire.Cancelled: // asked again
		v := a.verdicts[ev.ID]
		v.cancels = append(v.cancels, ev.Token)
	default:
		a.answer(tokens, ev.ID, wire.CancelDone)
	}
}

func (a *Arbiter) judgeCancel(r *request, tokens []uint64) {
	a.leaveRunning(r)
	a.judge(r, wire.Cancelled, "cancelled on request")
	a.verdicts[r.Seq].cancels = tokens
}

func (a *Arbiter) answer(tokens []uint64, id uint64, outcome wire.CancelOutcome) {
	for _, t := range tokens {
		a.emit(CancelAnswer{Token: t, Reply: wire.CancelReply{ID: id, Outcome: outcome}})
	}
}
