package arbiter

import (
	"time"

	"fairlead/wire"
)

// unfenced is soon, for what nothing stops when the leader is replaced: that
// happens then, or does not.
func (w *world) unfenced(fn func()) {
	term := w.term
	w.soon(func() {
		if term == w.term || w.rng.IntN(2) == 0 {
			fn()
		}
	})
}

// do begins what an action asks for.
func (w *world) do(act Action) {
	switch act := act.(type) {
	case HandOut:
		w.tally.HandOuts++
		if w.chance(12) {
			w.soonInTerm(func() { w.cancel(act.Claim.ID) })
		}
		w.soonInTerm(func() { w.storeClaim(act) })
	case StoreVerdict:
		w.soonInTerm(func() { w.storeVerdict(act) })
	case End:
		w.unfenced(func() { w.end(act) })
	case Finish:
		w.finished(act)
	case DropClaim:
		w.unfenced(func() { w.deleteClaim(act.Seq) })
	case ReleaseDone:
		w.unfenced(func() { w.purge(act.Seq) })
	case SyncDone:
		w.soonInTerm(func() { w.readDone(); w.soonInTerm(func() { w.step(DoneSynced(act)) }) })
	case CheckClaim:
		w.tally.Checks++
		w.soonInTerm(func() { w.checkClaim(act) })
	case Command:
		w.command(act)
	case CancelAnswer:
		w.cancelled(act)
	case Relead:
		w.fail("the state contradicts the store: %s", act.Why)
	case Notice:
		w.noticed(act)
	}
}

func (w *world) storeClaim(act HandOut) {
	c := act.Claim
	f := w.store.fate[c.ID]
	if c.Attempt != f.attempt+1 {
		w.fail("request %d: attempt %d follows %d", c.ID, c.Attempt, f.attempt)
	}
	f.attempt = c.Attempt
	w.store.seq++
	seq := w.store.seq
	w.store.claims[seq] = ClaimFound{Seq: seq, Worker: act.Worker, Incarnation: act.Incarnation, Claim: c}
	w.soon(func() { w.offer(seq) })
	w.soonInTerm(func() { w.step(HandedOut{ID: c.ID, Attempt: c.Attempt, Seq: seq}) })
}

func (w *world) storeVerdict(act StoreVerdict) {
	v := act.Verdict
	f := w.store.fate[v.ID]
	if f.finished != nil || f.ended != "" {
		w.fail("request %d: a verdict (%s) after %v %s", v.ID, v.Reason, f.finished, f.ended)
	}
	f.ended = v.Reason
	w.tally.Reasons[v.Reason]++
	if v.Dead {
		w.tally.Dead++
	}
	w.store.seq++
	seq := w.store.seq
	w.store.verdict[v.ID] = VerdictFound{Seq: seq, Verdict: v}
	w.soonInTerm(func() { w.step(VerdictStored{Seq: seq, Verdict: v}) })
}

// end carries out a verdict, in steps between which the leader may die.
func (w *world) end(act End) {
	id := act.Verdict.ID
	if f := w.store.fate[id]; f.finished != nil || f.ended != act.Verdict.Reason {
		w.fail("request %d ends with %s; it had %+v", id, act.Verdict.Reason, f)
	}
	for _, seq := range act.Claims {
		w.deleteClaim(seq)
	}
	term := w.term
	w.unfenced(func() {
		w.deleteReq(id)
		w.unfenced(func() {
			delete(w.store.verdict, id)
			w.tally.Ended++
			if term == w.term {
				w.step(Ended{ID: id})
			}
		})
	})
}

// finished cleans up after an outcome in DONE.
func (w *world) finished(act Finish) {
	f := w.store.fate[act.ID]
	if f.ended != "" {
		w.fail("request %d finishes after the verdict %s", act.ID, f.ended)
	}
	if f.finished == nil {
		w.tally.Finished++
	}
	if act.Done.Status != wire.StatusOK && act.Done.Attempt < f.attempt {
		w.fail("request %d finishes with %s of attempt %d, but %d was handed out", act.ID, act.Done.Status, act.Done.Attempt, f.attempt)
	}
	f.finished = &act.Done
	read := w.reader.done
	w.unfenced(func() {
		for _, seq := range act.Claims {
			w.deleteClaim(seq)
		}
		w.unfenced(func() {
			w.deleteReq(act.ID)
			for i := range w.store.done[:read] {
				if w.store.done[i].Done.ID == act.ID {
					w.purge(uint64(i + 1))
				}
			}
		})
	})
}

func (w *world) checkClaim(act CheckClaim) {
	_, present := w.store.claims[act.Claim]
	if !present {
		w.readDone()
	}
	w.soonInTerm(func() { w.step(ClaimChecked{ID: act.ID, Claim: act.Claim, Present: present}) })
}

func (w *world) deleteClaim(seq uint64) {
	id := w.store.claims[seq].Claim.ID
	delete(w.store.claims, seq)
	w.checkNumber(id)
}

func (w *world) deleteReq(id uint64) { delete(w.store.req, id) }

func (w *world) purge(seq uint64) {
	w.store.purged[seq] = true
	w.checkNumber(w.store.done[seq-1].Done.ID)
}

// checkNumber: what was deleted must not have been the last to know a request's
// highest attempt, or a later leader would use it again.
func (w *world) checkNumber(id uint64) {
	f := w.store.fate[id]
	if _, asked := w.store.req[id]; !asked || f == nil || f.attempt == 0 || f.finished != nil || w.store.verdict[id].Seq != 0 {
		return
	}
	for _, c := range w.store.claims {
		if c.Claim.ID == id && c.Claim.Attempt == f.attempt {
			return
		}
	}
	for i := range w.store.done {
		if d := &w.store.done[i].Done; d.ID == id && d.Attempt == f.attempt && !w.store.purged[uint64(i+1)] {
			return
		}
	}
	w.fail("request %d: nothing in the store knows of attempt %d any more", id, f.attempt)
}

func (w *world) cancelled(act CancelAnswer) {
	id, ok := w.asked[act.Token]
	delete(w.asked, act.Token)
	f := w.store.fate[id]
	switch {
	case !ok || id != act.Reply.ID:
		w.fail("a cancel of %d is answered that nobody asked: %d", act.Reply.ID, id)
	case act.Reply.Outcome == wire.CancelFound:
		w.tally.Found++
		if f.ended != wire.Cancelled {
			w.fail("cancel of %d is found, but it is %+v", id, f)
		}
	case act.Reply.Outcome == wire.CancelUnknown && w.reader.req >= id && w.store.req[id].at != (time.Time{}):
		w.fail("cancel of %d is unknown, but it is in REQ", id)
	case act.Reply.Outcome == wire.CancelDone && f.finished == nil && f.ended == "" && w.arb.requests[id] != nil &&
		w.arb.requests[id].waits():
		w.fail("cancel of %d is done, but it waits", id)
	}
}

func (w *world) noticed(n Notice) {
	switch n.Kind {
	case NoticeRequeued:
		w.tally.Requeued++
	case NoticeReturned:
		w.tally.Returned++
	case NoticeLateDone:
		w.tally.Late++
	case NoticeWorkerLost:
		w.tally.Lost++
	}
}
