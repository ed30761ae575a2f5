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
	openReq   bool    // REQ is read
	openDone  bool    // DONE is read
	work      []Event // WORK as it was when it was read
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
	w.arb = New(Config{Policy: w.policy, Epoch: uint64(w.term), Guards: w.guards, Overload: w.overload, Seed: w.seed})
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
		w.reader.openDone = true
		w.readDone()
		w.soonInTerm(func() {
			w.reader.openReq = true
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
	if !w.reader.openReq {
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
	if !w.reader.openDone {
		return
	}
	for w.reader.done < uint64(len(w.store.done)) {
		w.reader.done++
		if !w.store.purged[w.reader.done] {
			w.step(w.store.done[w.reader.done-1])
		}
	}
}
