package demo

import (
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Figures is what has happened by some moment.
type Figures struct {
	Total, Asked, Acknowledged, Completed, Failed, Duplicated int
	Classes                                                   []ClassFigures // in ring order
	Duel                                                      *DuelFigures   // nil when the scenario is none
}

// Open is how many acknowledged requests have no outcome.
func (f *Figures) Open() int { return f.Acknowledged - f.Completed - f.Failed }

// ClassFigures is one class.
type ClassFigures struct {
	Class
	Requests int     // acknowledged
	Queued   int     // of them, not handed out
	Running  int     // handed out, without an outcome
	Done     int     // with an outcome
	Tokens   int64   // uncached, of Requests
	Served   int64   // of Tokens, handed out
	Share    float64 // of tokens handed out while every class was backlogged, 0 to 1
	TTFT     Quantiles
	Wait     Quantiles
}

// Quantiles of a time. Zero while there is none.
type Quantiles struct{ P50, P99 time.Duration }

// DuelFigures is the count of a duel.
type DuelFigures struct {
	PremiumInFirst int // premium requests among the first completions
	RegularLeft    int // regular requests not completed when the last premium one was
}

// Figures sums up. It visits every request.
func (r *Recorder) Figures() Figures {
	f := Figures{Total: len(r.scenario.Requests), Asked: r.asked, Classes: make([]ClassFigures, len(r.classes))}
	for i := range r.classes {
		c := &r.classes[i]
		f.Classes[i] = ClassFigures{Class: r.scenario.Classes[i], Share: c.share, TTFT: quantiles(c.ttft), Wait: quantiles(c.wait)}
	}
	for _, rec := range r.requests {
		f.add(rec)
	}
	if d := r.scenario.Duel; d != nil {
		f.Duel = r.count(d)
	}
	return f
}

func quantiles(h *hdrhistogram.Histogram) Quantiles {
	at := func(percentile float64) time.Duration {
		return time.Duration(h.ValueAtPercentile(percentile)) * time.Microsecond
	}
	return Quantiles{P50: at(50), P99: at(99)}
}

func (f *Figures) add(rec *record) {
	if rec.finals > 1 {
		f.Duplicated++
	}
	if rec.request == nil {
		return
	}
	f.Acknowledged++
	c := &f.Classes[rec.request.Class]
	c.Requests++
	c.Tokens += rec.request.Uncached()
	if !rec.handed.IsZero() {
		c.Served += rec.request.Uncached()
	}
	switch rec.outcome {
	case completed:
		f.Completed++
		c.Done++
	case failed:
		f.Failed++
		c.Done++
	case open:
		if rec.handed.IsZero() {
			c.Queued++
		} else {
			c.Running++
		}
	}
}

// count takes the score of a duel from the order of completions.
func (r *Recorder) count(d *Duel) *DuelFigures {
	var order []string
	last := -1 // index in order of the last premium completion
	for _, id := range r.finished {
		if rec := r.requests[id]; rec.request != nil {
			order = append(order, rec.request.Name)
			if rec.request.Name == d.Premium {
				last = len(order) - 1
			}
		}
	}
	score := &DuelFigures{}
	for _, name := range order[:min(d.First, len(order))] {
		if name == d.Premium {
			score.PremiumInFirst++
		}
	}
	for _, req := range r.scenario.Requests {
		if req.Name == d.Regular {
			score.RegularLeft++
		}
	}
	for _, name := range order[:last+1] {
		if name == d.Regular {
			score.RegularLeft--
		}
	}
	return score
}
