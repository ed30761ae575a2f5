package arbiter

import (
	"slices"
	"time"

	"fairlead/wire"
)

// store models the streams REQ, WORK and DONE as far as the arbiter depends on them.
type store struct {
	last    uint64 // id of the newest request
	req     map[uint64]stored
	seq     uint64 // newest sequence in WORK
	claims  map[uint64]ClaimFound
	verdict map[uint64]VerdictFound // by id
	done    []Done                  // all ever; the sequence is the index + 1
	purged  map[uint64]bool         // sequences in DONE
	fate    map[uint64]*fate        // of every request ever asked
}

type stored struct {
	at  time.Time
	req wire.Request
}

// fate is what has happened to a request.
type fate struct {
	attempt  uint32 // highest whose claim was stored
	finished *wire.Done
	ended    wire.Reason // of its stored verdict
	lost     uint32      // attempts that had started when their worker died
}

func (s *store) init() {
	s.req, s.claims, s.verdict = map[uint64]stored{}, map[uint64]ClaimFound{}, map[uint64]VerdictFound{}
	s.purged, s.fate = map[uint64]bool{}, map[uint64]*fate{}
}

func (s *store) ask(q wire.Request, at time.Time) uint64 {
	s.last++
	s.req[s.last] = stored{at, q}
	s.fate[s.last] = &fate{}
	return s.last
}

// reader is how far the leader has read the streams.
type reader struct {
	req, done uint64
	open      bool // DONE and REQ are read live; closed before recovery gets there
	work      []Event
}

// takeOver makes a new leader; the old one's answers and plans are lost, and its
// writes refused.
func (w *world) takeOver() {
	w.tally.Terms++
	var saved Saved
	if w.arb != nil {
		saved = w.arb.Save()
	}
	w.term++
	w.asked = map[uint64]uint64{}
	w.arb = New(Config{Policy: w.policy, Epoch: uint64(w.term), Guards: w.guards, Seed: w.seed})
	w.reader = reader{}
	for _, seq := range sortedSeqs(w.store.claims) {
		w.reader.work = append(w.reader.work, w.store.claims[seq])
	}
	for _, id := range sortedSeqs(w.store.verdict) {
		w.reader.work = append(w.reader.work, w.store.verdict[id])
	}
	w.soonInTerm(func() { w.recoverWork(saved) })
}

// soonInTerm is soon, unless the leader is replaced before.
func (w *world) soonInTerm(fn func()) {
	term := w.term
	w.soon(func() {
		if term == w.term {
			fn()
		}
	})
}

// recoverWork delivers what WORK held when it was read, then DONE, then REQ.
func (w *world) recoverWork(saved Saved) {
	for _, ev := range w.reader.work {
		w.step(ev)
	}
	w.soonInTerm(func() {
		w.reader.open = true
		w.readDone()
		w.soonInTerm(func() {
			w.readReq()
			w.soonInTerm(func() {
				w.readDone()
				w.readReq()
				w.step(Recovered{Saved: saved})
			})
		})
	})
}

func sortedSeqs[V any](m map[uint64]V) []uint64 {
	keys := make([]uint64, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// readReq delivers what is new in REQ.
func (w *world) readReq() {
	if !w.reader.open || w.reader.done == 0 && len(w.store.done) > 0 {
		return
	}
	for w.reader.req < w.store.last {
		w.reader.req++
		id := w.reader.req
		m, ok := w.store.req[id]
		if !ok {
			continue
		}
		ev := Arrived{ID: id, At: m.at, Request: m.req}
		if id%23 == 0 {
			ev.Refusal = &wire.Refusal{Reason: wire.InvalidRequest, Detail: "Fairlead-TTL: no"}
		}
		w.step(ev)
	}
}

// readDone delivers what is new in DONE.
func (w *world) readDone() {
	if !w.reader.open {
		return
	}
	for w.reader.done < uint64(len(w.store.done)) {
		w.reader.done++
		if !w.store.purged[w.reader.done] {
			w.step(w.store.done[w.reader.done-1])
		}
	}
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
		w.soonInTerm(func() { w.end(act) })
	case Finish:
		w.finished(act)
	case DropClaim:
		w.soonInTerm(func() { w.deleteClaim(act.Seq) })
	case ReleaseDone:
		w.soonInTerm(func() { w.purge(act.Seq) })
	case SyncDone:
		w.soonInTerm(func() { w.readDone(); w.soonInTerm(func() { w.step(DoneSynced{Token: act.Token}) }) })
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
	w.soonInTerm(func() {
		w.deleteReq(id)
		w.soonInTerm(func() {
			delete(w.store.verdict, id)
			w.tally.Ended++
			w.step(Ended{ID: id})
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
	f.finished = &act.Done
	w.soonInTerm(func() {
		for _, seq := range act.Claims {
			w.deleteClaim(seq)
		}
		w.soonInTerm(func() {
			w.deleteReq(act.ID)
			for i := range w.store.done[:w.reader.done] {
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
