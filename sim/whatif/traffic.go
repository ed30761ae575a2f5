package whatif

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"fairlead/sim"
	"fairlead/trace"
	"fairlead/wire"
)

// Source is one trace.
type Source struct {
	Name    string // in errors; the class of rows that have none
	Classes Classes
	rows    []sim.Request // as recorded, from 0
	coarse  bool          // its clock is
	Workers []trace.RecordedWorker
}

// Traffic is what is asked. Rates and durations are those of the trace: Speedup comes last.
type Traffic struct {
	Sources []*Source
	// Scale multiplies the requests of a class: 0.5 leaves out half of them, at
	// random; 2 asks each twice, the second at a random time within a minute of the
	// first. 0 counts as 1 when it is the general setting.
	Scale PerClass[float64]
	// TTL is the time to live of requests that bring none; 0 none.
	TTL PerClass[time.Duration]
	// Speedup divides every arrival. 0 counts as 1.
	Speedup float64
	// Limit keeps the first so many rows of each source; 0 all.
	Limit int
	// Sessions makes the session of a request its tenant, where it names none.
	Sessions bool
	// Model is what requests that name none ask for.
	Model string
	// Block is the length of the blocks that resampling draws, of a short trace a tenth of
	// its own; 0 never resamples.
	Block time.Duration
}

// ReadSource reads a trace or a recording.
func ReadSource(r io.Reader, name string) (*Source, error) {
	s := &Source{Name: name}
	buffered := bufio.NewReaderSize(r, 1<<16)
	head, err := buffered.Peek(1 << 12)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if trace.IsRecording(head) {
		rec, err := trace.ReadRecording(buffered)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		s.Workers = rec.Workers
		s.rows = fromRecording(rec)
	} else {
		reqs, err := trace.Read(buffered, name)
		if err != nil {
			return nil, err
		}
		s.rows, s.coarse = fromTrace(reqs), true
	}
	if len(s.rows) == 0 {
		return nil, fmt.Errorf("%s: no requests", name)
	}
	return s, nil
}

func fromTrace(reqs []trace.Request) []sim.Request {
	rows := make([]sim.Request, len(reqs))
	for i, r := range reqs {
		rows[i] = sim.Request{
			At: r.At, Class: r.Class, Input: uint32(r.Input), Cached: uint32(r.Cached), Output: uint32(max(r.Output, 1)), Session: r.Session,
		}
	}
	return rows
}

// fromRecording keeps the instants of the recording, which its attempts share.
func fromRecording(rec *trace.Recording) []sim.Request {
	means := meanOutputs(rec)
	rows := make([]sim.Request, len(rec.Requests))
	for i := range rec.Requests {
		q := &rec.Requests[i]
		output := q.Output
		if output == 0 { // it did not complete: as long as others of its class, as far as it allows
			output = max(means[q.Class], 1)
			if q.MaxOutput > 0 {
				output = min(output, q.MaxOutput)
			}
		}
		rows[i] = sim.Request{
			At: time.Duration(max(q.AtNS, 0)), Class: q.Class, Tenant: q.Tenant, Model: q.Model, Worker: q.Worker, Session: q.Tenant,
			Input: q.Input, Cached: q.Cached, Output: output, MaxOutput: q.MaxOutput, Strict: q.Strict, Priority: q.Priority,
			TTL: time.Duration(q.TTLMS) * time.Millisecond, Soft: q.Soft, NoQueue: q.NoQueue, Retry: retry(q.Retry),
			Where: where(q), Attempts: attempts(q.Attempts),
		}
	}
	return rows
}

// where is nil for the many requests that may go anywhere.
func where(q *trace.Recorded) *sim.Where {
	if q.Allow == nil && q.Require == nil && q.Prefer == nil && q.Rank == nil {
		return nil
	}
	w := &sim.Where{Allow: q.Allow, Require: q.Require, Prefer: q.Prefer, Rank: wire.AnyRank}
	if q.Rank != nil {
		w.Rank = *q.Rank
	}
	return w
}

func retry(word string) wire.Retry {
	return map[string]wire.Retry{"always": wire.RetryAlways, "never": wire.RetryNever}[word]
}

// mostAttempts of a request are played back; later ones are modelled.
const mostAttempts = 1000

func attempts(recorded []trace.Attempt) []sim.Attempt {
	highest := uint32(0)
	for _, a := range recorded {
		highest = max(highest, a.Number)
	}
	if highest == 0 {
		return nil
	}
	list := make([]sim.Attempt, min(highest, mostAttempts))
	for _, a := range recorded {
		if n := int(a.Number) - 1; n >= 0 && n < len(list) {
			list[n] = sim.Attempt{
				Handed: time.Duration(a.HandedNS), First: time.Duration(a.FirstNS), End: time.Duration(a.EndNS),
				Status: wire.Status(a.Status), Reason: wire.Reason(a.Reason), Cached: a.Cached,
			}
		}
	}
	return list
}

func meanOutputs(rec *trace.Recording) map[string]uint32 {
	sum, n := map[string]uint64{}, map[string]uint64{}
	for i := range rec.Requests {
		if q := &rec.Requests[i]; q.Output > 0 {
			sum[q.Class] += uint64(q.Output)
			n[q.Class]++
		}
	}
	means := map[string]uint32{}
	for class := range n {
		means[class] = uint32(sum[class] / n[class])
	}
	return means
}

// altered reports whether requests arrive at other times than recorded, or others do.
func (t *Traffic) altered() bool {
	return t.Speedup != 0 && t.Speedup != 1 || t.Scale.All != 0 && t.Scale.All != 1 || len(t.Scale.Except) > 0
}

// check refuses what makes no sense.
func (t *Traffic) check() error {
	switch {
	case len(t.Sources) == 0:
		return errors.New("traffic: no trace; want at least one")
	case t.Speedup != 0 && !(t.Speedup > 0 && !math.IsInf(t.Speedup, 1)):
		return fmt.Errorf("speedup: %v; want a positive number", t.Speedup)
	case t.Limit < 0:
		return fmt.Errorf("requests: %d; want a positive number, or 0 for all", t.Limit)
	case t.Block < 0:
		return fmt.Errorf("block: %s; want a positive duration, or 0 to play what was recorded always", t.Block)
	}
	for _, s := range append(values(t.Scale.Except), t.Scale.All) {
		if !(s >= 0 && s <= maxScale) {
			return fmt.Errorf("scale: %v; want a number from 0 to %v", s, maxScale)
		}
	}
	return nil
}

func values[K comparable, V any](m map[K]V) []V {
	list := make([]V, 0, len(m))
	for _, v := range m {
		list = append(list, v)
	}
	return list
}

const maxScale = 1000.0

// requests draws the traffic of a seed, the first of which is 0.
func (t *Traffic) requests(seed uint64) []sim.Request {
	var all []sim.Request
	for i, s := range t.Sources {
		rng := rand.New(rand.NewPCG(seed, uint64(i)+1))
		rows := s.rows
		if t.Limit > 0 {
			rows = rows[:min(t.Limit, len(rows))]
		}
		rows = s.spread(rows, rng)
		if seed > 0 && t.Block > 0 {
			rows = resample(rows, t.Block, rng)
		}
		all = append(all, t.shape(s, rows, rng)...)
	}
	slices.SortStableFunc(all, func(a, b sim.Request) int { return int(min(max(a.At-b.At, -1), 1)) })
	return all
}

// spread undoes a clock so coarse that many arrive at once.
func (s *Source) spread(rows []sim.Request, rng *rand.Rand) []sim.Request {
	if !s.coarse {
		return rows
	}
	reqs := make([]trace.Request, len(rows))
	for i := range rows {
		reqs[i].At = rows[i].At
	}
	rows = slices.Clone(rows)
	for i, r := range trace.Spread(reqs, trace.MooncakeGrid, rng) {
		rows[i].At = r.At
	}
	return rows
}

// shape names, multiplies and hurries the rows of a source.
func (t *Traffic) shape(s *Source, rows []sim.Request, rng *rand.Rand) []sim.Request {
	speedup := max(t.Speedup, 0)
	if speedup == 0 {
		speedup = 1
	}
	out := make([]sim.Request, 0, len(rows))
	for _, r := range rows {
		r.Class = s.Classes.of(r.Class, rng)
		if r.TTL == 0 {
			r.TTL = t.TTL.Of(r.Class)
		}
		if r.Model == "" {
			r.Model = t.Model
		}
		if t.Sessions && r.Tenant == "" && wire.ValidToken(r.Session) {
			r.Tenant = r.Session
		}
		at := r.At
		for range t.copies(r.Class, rng) {
			r.At = time.Duration(float64(at) / speedup)
			out = append(out, r)
			at = max(0, at+time.Duration((rng.Float64()*2-1)*float64(time.Minute)))
		}
	}
	return out
}

// copies is how often a row of a class is asked.
func (t *Traffic) copies(class string, rng *rand.Rand) int {
	scale := t.Scale.Of(class)
	if _, own := t.Scale.Except[class]; !own && scale == 0 {
		return 1
	}
	n := int(scale)
	if rest := scale - float64(n); rest > 0 && rng.Float64() < rest {
		n++
	}
	return n
}

// resample draws blocks of a trace with replacement, as many as it has.
func resample(rows []sim.Request, block time.Duration, rng *rand.Rand) []sim.Request {
	span := rows[len(rows)-1].At + 1
	block = max(1, min(block, span/10))
	n := int((span + block - 1) / block)
	var out []sim.Request
	for k := range n {
		from := time.Duration(rng.IntN(n)) * block
		i, _ := slices.BinarySearchFunc(rows, from, func(r sim.Request, at time.Duration) int { return int(min(max(r.At-at, -1), 1)) })
		for ; i < len(rows) && rows[i].At < from+block; i++ {
			r := rows[i]
			r.At += time.Duration(k)*block - from
			out = append(out, r)
		}
	}
	return out
}
