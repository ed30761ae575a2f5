package demo

import (
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"fairlead/wire"
)

// Recorder counts what happened. Its methods may be called in any order that
// messages can arrive in: a claim may be seen before the receipt of its request.
// It reads no clock and is not safe for concurrent use.
type Recorder struct {
	scenario *Scenario
	classes  []tally
	requests map[uint64]*record
	finished []uint64 // ids in the order of their first final message
	asked    int
}

// tally is what is counted of a class as it happens.
type tally struct {
	share      float64
	ttft, wait *hdrhistogram.Histogram // microseconds
}

// record is one request, by its id.
type record struct {
	request *Request  // nil until acknowledged
	asked   time.Time // zero until acknowledged
	handed  time.Time // when first handed out; zero before
	outcome outcome
	finals  int
}

type outcome uint8

const (
	open outcome = iota
	completed
	failed
)

// longest is the longest time that a histogram holds; what takes longer counts
// as this long.
const longest = time.Hour

// NewRecorder is a recorder of one run of a scenario.
func NewRecorder(s *Scenario) *Recorder {
	r := &Recorder{scenario: s, classes: make([]tally, len(s.Classes)), requests: make(map[uint64]*record, len(s.Requests))}
	for i := range r.classes {
		r.classes[i].ttft = hdrhistogram.New(1, longest.Microseconds(), 3)
		r.classes[i].wait = hdrhistogram.New(1, longest.Microseconds(), 3)
	}
	return r
}

func (r *Recorder) record(id uint64) *record {
	rec := r.requests[id]
	if rec == nil {
		rec = &record{}
		r.requests[id] = rec
	}
	return rec
}

// Asked says that a frontend is about to publish a request.
func (r *Recorder) Asked() { r.asked++ }

// Acknowledged says that the store took a request which was asked at a time.
func (r *Recorder) Acknowledged(id uint64, req *Request, asked time.Time) {
	rec := r.record(id)
	rec.request, rec.asked = req, asked
	r.waited(rec)
}

// HandedOut says that a claim of the request was seen. Only the first counts.
func (r *Recorder) HandedOut(id uint64, at time.Time) {
	rec := r.record(id)
	if rec.handed.IsZero() {
		rec.handed = at
		r.waited(rec)
	}
}

// waited notes the wait, once both its ends are known.
func (r *Recorder) waited(rec *record) {
	if rec.request != nil && !rec.handed.IsZero() {
		note(r.classes[rec.request.Class].wait, rec.handed.Sub(rec.asked))
	}
}

// FirstChunk says that the frontend has the first chunk of an acknowledged request.
func (r *Recorder) FirstChunk(id uint64, at time.Time) {
	rec := r.record(id)
	note(r.classes[rec.request.Class].ttft, at.Sub(rec.asked))
}

func note(h *hdrhistogram.Histogram, d time.Duration) {
	// Within the bounds of the histogram, so that it cannot fail.
	_ = h.RecordValue(min(max(d, time.Microsecond), longest).Microseconds())
}

// Ended says that the frontend was told the outcome.
func (r *Recorder) Ended(id uint64, ok bool) {
	rec := r.record(id)
	rec.outcome = failed
	if ok {
		rec.outcome = completed
	}
}

// Final says that a final message of the request was seen.
func (r *Recorder) Final(id uint64) {
	rec := r.record(id)
	rec.finals++
	if rec.finals == 1 {
		r.finished = append(r.finished, id)
	}
}

// Shares takes the broker's account of the classes.
func (r *Recorder) Shares(status []wire.ClassStatus) {
	for _, s := range status {
		for i := range r.classes {
			if s.Model == model && s.Class == r.scenario.Classes[i].Name {
				r.classes[i].share = s.Share
			}
		}
	}
}
