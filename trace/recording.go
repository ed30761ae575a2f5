package trace

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"
)

// RecordingVersion is the version of recordings that are written. A reader refuses
// a higher one.
const RecordingVersion = 1

// Recording is traffic as a broker saw it, without a word of a prompt. As a file it
// is JSON lines: one [RecordingHead], then a line for each request and each worker,
// in any order.
type Recording struct {
	RecordingHead
	Requests []Recorded // by arrival
	Workers  []RecordedWorker
}

// RecordingHead is the first line of a recording.
type RecordingHead struct {
	Version int       `json:"fairlead_recording"`
	Started time.Time `json:"started"`             // all instants count from it; by the clock of the store
	ClockNS int64     `json:"clock_error_ns"`      // how far instants of different origin may be apart, at most
	Missed  uint64    `json:"missed,omitempty"`    // requests known of by their claims alone; only in the last line
	Names   string    `json:"namespace,omitempty"` // of the deployment
}

// Recorded is a request in a recording. What the frontend did not say is left out.
type Recorded struct {
	AtNS      int64     `json:"at_ns"` // arrival in the store, nanoseconds since the start; negative: before it
	ID        uint64    `json:"id"`
	Class     string    `json:"class"` // as asked for: a class or a family
	Input     uint32    `json:"input"` // tokens of the prompt, as said or estimated
	Cached    uint32    `json:"cached,omitempty"`
	MaxOutput uint32    `json:"max_output,omitempty"`
	Output    uint32    `json:"output,omitempty"` // tokens, as its engine counted; 0 unknown
	Model     string    `json:"model,omitempty"`
	Tenant    string    `json:"tenant,omitempty"`
	Priority  float64   `json:"priority,omitempty"`
	Strict    uint32    `json:"strict,omitempty"`
	TTLMS     int64     `json:"ttl_ms,omitempty"`
	Worker    string    `json:"worker,omitempty"` // pinned to
	Soft      bool      `json:"soft,omitempty"`   // the pin is a preference
	Rank      *int32    `json:"dp_rank,omitempty"`
	Allow     []string  `json:"allow,omitempty"` // workers
	Require   []string  `json:"require_taints,omitempty"`
	Prefer    []string  `json:"prefer_taints,omitempty"`
	NoQueue   bool      `json:"no_queue,omitempty"`
	Retry     string    `json:"retry,omitempty"` // always or never
	Attempts  []Attempt `json:"attempts,omitempty"`
	Reason    string    `json:"reason,omitempty"` // why the broker ended it
}

// Attempt is one attempt of a recorded request.
type Attempt struct {
	Number   uint32 `json:"n"`
	Order    uint64 `json:"order,omitempty"` // among all hand-outs of the recording, from 1
	Worker   string `json:"worker,omitempty"`
	HandedNS int64  `json:"handed_ns,omitempty"`
	FirstNS  int64  `json:"first_ns,omitempty"` // first token; 0 unknown, or there was none
	EndNS    int64  `json:"end_ns,omitempty"`   // 0 unknown: lost with its worker, or after the recording
	Status   string `json:"status,omitempty"`   // as in DONE
	Reason   string `json:"reason,omitempty"`
	Cached   int64  `json:"cached"` // tokens of the prompt in the engine's cache; -1 it did not say
}

// RecordedWorker is a worker as its heartbeats described it last.
type RecordedWorker struct {
	Worker     string   `json:"worker_name"`
	Models     []string `json:"models,omitempty"`
	Taints     []string `json:"taints,omitempty"`
	Ranks      uint32   `json:"ranks"`
	Slots      uint32   `json:"slots"` // of each rank
	MaxBatched uint32   `json:"max_batched_tokens,omitempty"`
	Speed      float64  `json:"speed,omitempty"` // uncached prompt tokens a second; 0 unknown
	JoinedNS   int64    `json:"joined_ns"`       // first heard, since the start
}

// WriteLine writes a head, a request or a worker of a recording as one line.
func WriteLine(w io.Writer, line any) error {
	b, err := json.Marshal(line)
	if err != nil {
		return fmt.Errorf("recording: %w", err)
	}
	_, err = w.Write(append(b, '\n'))
	return err
}

// recordingMark is in the first line of a recording, and in no other trace.
const recordingMark = `"fairlead_recording"`

// IsRecording reports whether a file that begins so is a recording.
func IsRecording(head []byte) bool {
	first, _, _ := bytes.Cut(bytes.TrimLeft(bytes.TrimPrefix(head, []byte(byteOrderMark)), " \t\r\n"), []byte("\n"))
	return bytes.Contains(first, []byte(recordingMark))
}

// ReadRecording reads a recording. Lines that a later version may add are passed
// over; a line that was cut off at the end of the file is, too.
func ReadRecording(r io.Reader) (*Recording, error) {
	lines := bufio.NewReader(skipMark(r))
	rec := &Recording{}
	for n := 1; ; n++ {
		text, err := lines.ReadBytes('\n')
		last := errors.Is(err, io.EOF)
		if err != nil && !last {
			return nil, lineError(n, err)
		}
		text = bytes.TrimSpace(text)
		if cut := last && !json.Valid(text); len(text) > 0 && !cut {
			if err := rec.line(text, n == 1); err != nil {
				return nil, fmt.Errorf("line %d: %w", n, err)
			}
		}
		if last {
			break
		}
	}
	if rec.Version == 0 {
		return nil, errors.New("line 1: no recording; want an object with fairlead_recording")
	}
	slices.SortStableFunc(rec.Requests, func(a, b Recorded) int { return cmp.Or(cmp.Compare(a.AtNS, b.AtNS), cmp.Compare(a.ID, b.ID)) })
	return rec, nil
}

func (rec *Recording) line(text []byte, first bool) error {
	switch {
	case bytes.Contains(text, []byte(recordingMark)):
		return rec.head(text)
	case first:
		return errors.New("no recording; want an object with fairlead_recording")
	case bytes.Contains(text, []byte(`"worker_name"`)):
		var w RecordedWorker
		if err := json.Unmarshal(text, &w); err != nil {
			return err
		}
		rec.hear(w)
	default:
		var q Recorded
		if err := json.Unmarshal(text, &q); err != nil {
			return err
		}
		if err := q.check(); err != nil {
			return err
		}
		rec.Requests = append(rec.Requests, q)
	}
	return nil
}

// hear keeps what was said last of a worker.
func (rec *Recording) hear(w RecordedWorker) {
	i := slices.IndexFunc(rec.Workers, func(o RecordedWorker) bool { return o.Worker == w.Worker })
	if i < 0 {
		rec.Workers = append(rec.Workers, w)
		return
	}
	rec.Workers[i] = w
}

func (rec *Recording) head(text []byte) error {
	var h RecordingHead
	if err := json.Unmarshal(text, &h); err != nil {
		return err
	}
	if h.Version < 1 || h.Version > RecordingVersion {
		return fmt.Errorf("field fairlead_recording: version %d; this program reads 1 to %d", h.Version, RecordingVersion)
	}
	missed := max(h.Missed, rec.Missed)
	if rec.Version == 0 {
		rec.RecordingHead = h
	}
	rec.Missed = missed
	return nil
}

// maxClass bounds the name of a class, which a client may choose freely.
const maxClass = 4096

func (q *Recorded) check() error {
	switch {
	case q.Class == "":
		return errors.New("field class: missing; want the name that was asked for")
	case len(q.Class) > maxClass:
		return fmt.Errorf("field class: %d bytes; want at most %d", len(q.Class), maxClass)
	case q.Input > maxTokens || q.Output > maxTokens:
		return fmt.Errorf("fields input and output: %d and %d; want at most %d", q.Input, q.Output, uint32(maxTokens))
	case q.AtNS < -int64(maxTimestamp) || q.AtNS > int64(maxTimestamp):
		return fmt.Errorf("field at_ns: %d; want at most a century around the start", q.AtNS)
	case q.TTLMS < 0 || q.TTLMS > maxTimestamp.Milliseconds():
		return fmt.Errorf("field ttl_ms: %d; want a positive number of milliseconds", q.TTLMS)
	case q.Cached > q.Input:
		return fmt.Errorf("field cached: %d of %d tokens; want at most all", q.Cached, q.Input)
	}
	return nil
}

// plain is the recording as a trace: what every reader of traces knows of a request. In
// the name of a class, characters that other traces do not have become underscores.
func (rec *Recording) plain() ([]Request, error) {
	if len(rec.Requests) == 0 {
		return nil, errEmpty
	}
	reqs := make([]Request, len(rec.Requests))
	for i := range rec.Requests {
		q := &rec.Requests[i]
		reqs[i] = Request{
			At: time.Duration(q.AtNS), Class: underscored(q.Class), Input: int(q.Input), Cached: int(q.Cached), Output: int(q.Output), Session: q.Tenant,
		}
	}
	fromZero(reqs)
	return reqs, nil
}
