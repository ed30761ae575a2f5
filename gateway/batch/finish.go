package batch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// maxLine is the most that the store keeps of one line's result, bytes.
func (s *Store) maxLine() int64 { return s.js.Conn().MaxPayload() - 4<<10 }

// finalise makes the two files of a batch that goes on no more.
func (x *run) finalise(ctx context.Context, rec Batch) (Batch, error) {
	base := "file-" + strings.TrimPrefix(rec.ID, "batch_")
	output := &sink{x: x, f: File{ID: base + "-output", Owner: rec.Owner, Name: rec.ID + "_output.jsonl", Purpose: "batch_output"}}
	failed := &sink{x: x, f: File{ID: base + "-errors", Owner: rec.Owner, Name: rec.ID + "_errors.jsonl", Purpose: "batch_output"}}
	counts, read := Counts{Total: rec.Counts.Total}, 0
	line := func(n int, text []byte) error {
		read = n
		st, err := x.result(ctx, n, text, rec.Ending)
		switch {
		case err != nil || !st.Done:
			return err
		case st.OK:
			counts.Completed++
			return output.line(ctx, st.Out)
		}
		counts.Failed++
		return failed.line(ctx, st.Out)
	}
	err := x.Store.each(ctx, rec.Owner, rec.Input, line)
	if errors.Is(err, ErrNotFound) { // the input is gone, what became of its lines is not
		for err = nil; err == nil && read < rec.Counts.Total; {
			err = line(read+1, nil)
		}
	}
	err = errors.Join(output.close(err), failed.close(err), err)
	if errors.Is(err, errUnfinished) {
		return x.set(ctx, func(b *Batch) { b.Status, b.Ending, b.FinalizingAt = InProgress, "", 0 })
	}
	if err != nil {
		return rec, fmt.Errorf("write the files of %s: %w", x.id, err)
	}
	return x.set(ctx, func(b *Batch) {
		b.Status, b.Counts, b.EndedAt = rec.Ending, counts, time.Now().Unix()
		b.Output, b.Errors = output.id(), failed.id()
	})
}

// errUnfinished sends a batch back to a line that has no result.
var errUnfinished = errors.New("a line has no result")

// result is what became of a line, whose text is nil when it cannot be read any more.
// One that an expired batch did not come to is an error, one that a cancelled batch
// did not come to is nothing.
func (x *run) result(ctx context.Context, n int, text []byte, ending Status) (state, error) {
	st, err := x.stored(ctx, n)
	if err != nil || st.Done || ending == Cancelled {
		return st, err
	}
	problem := fileGone
	switch {
	case ending == Expired:
		problem = outError{Code: "batch_expired", Message: "the batch expired before this request was done"}
	case text != nil:
		return st, fmt.Errorf("line %d: %w", n, errUnfinished)
	}
	var l line
	_ = json.Unmarshal(text, &l) // it was checked, or is gone and its id with it
	return state{Done: true, Out: x.out(&asking{n: n}, l.CustomID, nil, &problem)}, nil
}

// stored is what is written down of a line. A result is what any replica says it is;
// that there is none is only the leader's to say.
func (x *run) stored(ctx context.Context, n int) (st state, err error) {
	e, err := x.b.lines.Get(ctx, lineKey(x.id, n))
	if err == nil && json.Unmarshal(e.Value(), &st) == nil && st.Done {
		return st, nil
	}
	if st, err = x.written(ctx, n); err == nil && !st.Done && x.state(n).Done {
		err = fmt.Errorf("line %d of %s: %w", n, x.id, errBehind)
	}
	return st, err
}

// sink writes a file of results, which is only there when it has a line.
type sink struct {
	x    *run
	f    File
	pipe *io.PipeWriter
	put  chan error
}

func (s *sink) line(ctx context.Context, out []byte) error {
	if s.pipe == nil {
		r, w := io.Pipe()
		s.pipe, s.put = w, make(chan error, 1)
		go func() { // joined by close
			n, err := s.x.Store.putContent(ctx, s.f.ID, &limitedReader{r: r, left: s.x.Store.limits.AllFiles})
			_ = r.CloseWithError(errors.Join(err, io.ErrClosedPipe)) // never fails
			if err == nil {
				s.f.Bytes, s.f.CreatedAt = n, time.Now().Unix()
				err = s.x.Store.Register(ctx, s.f)
			}
			s.put <- err
		}()
	}
	_, err := s.pipe.Write(append(append(make([]byte, 0, len(out)+1), out...), '\n'))
	return err
}

// close ends the file, or, with an error, breaks it off.
func (s *sink) close(err error) error {
	if s.pipe == nil {
		return nil
	}
	_ = s.pipe.CloseWithError(err) // never fails
	return <-s.put
}

// id is that of the file, "" when there is none.
func (s *sink) id() string {
	if s.pipe == nil {
		return ""
	}
	return s.f.ID
}

// clean removes what only a running batch needs.
func (x *run) clean(ctx context.Context) error {
	stream, err := x.Store.js.Stream(ctx, "KV_"+x.Store.prefix+"BATCH_LINES")
	if err == nil {
		err = stream.Purge(ctx, jetstream.WithPurgeSubject("$KV."+x.Store.prefix+"BATCH_LINES."+x.id+".>"))
	}
	if err == nil {
		err = x.b.records.Purge(ctx, activeKey(x.id))
	}
	if err != nil {
		return fmt.Errorf("clean up after the batch %s: %w", x.id, err)
	}
	return nil
}
