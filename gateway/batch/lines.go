package batch

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
)

// line is a request in the input file.
type line struct {
	CustomID string          `json:"custom_id"`
	Method   string          `json:"method"`
	URL      string          `json:"url"`
	Body     json.RawMessage `json:"body"`
}

// segmentBytes is how much of an input file is in memory at once.
const segmentBytes = 16 << 20

// segment is a piece of an input file: whole lines.
type segment struct {
	lines [][]byte
	next  int64 // where the rest begins
	last  bool
}

// segment reads lines from an offset on. The file is opened anew each time: a
// reader that waits for hours would hold on to the server.
func (s *Store) segment(ctx context.Context, owner, id string, from int64) (seg segment, err error) {
	file, err := s.Open(ctx, owner, id)
	if err != nil {
		return seg, err
	}
	defer file.Close()
	if _, err := io.CopyN(io.Discard, file, from); err != nil {
		return seg, fmt.Errorf("read the file %s: %w", id, err)
	}
	seg.next = from
	lines := bufio.NewReaderSize(file, 64<<10)
	for seg.next < from+segmentBytes {
		text, size, err := readLine(lines, s.limits.LineBytes)
		seg.next += size
		if size > s.limits.LineBytes {
			seg.lines = append(seg.lines, tooLong)
		} else if text = bytes.TrimSpace(text); len(text) > 0 {
			seg.lines = append(seg.lines, text)
		}
		if errors.Is(err, io.EOF) {
			seg.last = true
			break
		}
		if err != nil {
			return seg, fmt.Errorf("read the file %s: %w", id, err)
		}
	}
	return seg, nil
}

// tooLong stands for a line over the limit: nothing of it is kept.
var tooLong = []byte{}

// readLine reads a line and its size, and of one over the limit only the size.
func readLine(r *bufio.Reader, limit int64) (text []byte, size int64, err error) {
	for {
		piece, err := r.ReadSlice('\n')
		if size += int64(len(piece)); size <= limit {
			text = append(text, piece...)
		} else {
			text = nil
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return text, size, err
		}
	}
}

// each calls f with every line of a file and its number; the first is 1.
func (s *Store) each(ctx context.Context, owner, id string, f func(n int, text []byte) error) error {
	for n, from := 0, int64(0); ; {
		seg, err := s.segment(ctx, owner, id, from)
		if err != nil {
			return err
		}
		for _, text := range seg.lines {
			n++
			if err := f(n, text); err != nil {
				return err
			}
		}
		if seg.last {
			return nil
		}
		from = seg.next
	}
}

// fileGone is the error of what was not read in time.
var fileGone = outError{Code: "file_not_found", Message: "the input file has been deleted, or has expired"}

// maxModels is how many models of a batch are waited for.
const maxModels = 100

// found is what is read of an input file.
type found struct {
	total    int
	problems []Problem
	ids      map[string]bool
	models   map[string]bool
}

// maxProblems is how many problems of an input file are told.
const maxProblems = 100

var errTooMany = errors.New("too many lines")

// check reads the input of a batch, and counts its lines or says what is wrong.
func (s *Store) check(ctx context.Context, b *Batch) (found, error) {
	in := found{ids: map[string]bool{}, models: map[string]bool{}}
	err := s.each(ctx, b.Owner, b.Input, func(n int, text []byte) error {
		if in.total = n; n > s.limits.Lines {
			return errTooMany
		}
		if code, message, param := in.line(text, b.Endpoint, s.limits.LineBytes); code != "" && len(in.problems) < maxProblems {
			p := Problem{Code: code, Message: message, Line: n}
			if param != "" {
				p.Param = &param
			}
			in.problems = append(in.problems, p)
		}
		return nil
	})
	switch {
	case errors.Is(err, ErrNotFound):
		in.problems, err = []Problem{{Code: fileGone.Code, Message: fileGone.Message}}, nil
	case err == nil && in.total == 0:
		in.problems = []Problem{{Code: "empty_file", Message: "the input file has no lines"}}
	case errors.Is(err, errTooMany):
		in.problems, err = []Problem{{Code: "too_many_lines", Message: fmt.Sprintf("the input file has more than %d lines", s.limits.Lines)}}, nil
	}
	return in, err
}

func (f *found) line(text []byte, endpoint string, limit int64) (code, message, param string) {
	if len(text) == 0 {
		return "line_too_long", fmt.Sprintf("the line has more than %d bytes", limit), ""
	}
	var l line
	if err := json.Unmarshal(text, &l); err != nil {
		return "invalid_json_line", "the line is not a JSON object as it should be: " + err.Error(), ""
	}
	var body struct {
		Stream bool `json:"stream"`
		Model  any  `json:"model"`
	}
	switch {
	case l.CustomID == "" || len(l.CustomID) > 512:
		return "invalid_custom_id", "custom_id is missing or too long; want 1 to 512 bytes", "custom_id"
	case f.ids[l.CustomID]:
		return "duplicate_custom_id", fmt.Sprintf("custom_id %q is there twice", l.CustomID), "custom_id"
	case l.Method != http.MethodPost:
		return "invalid_method", fmt.Sprintf("method is %q; want POST", l.Method), "method"
	case l.URL != endpoint:
		return "mismatched_url", fmt.Sprintf("url is %q; want %s, the batch's endpoint", l.URL, endpoint), "url"
	case json.Unmarshal(l.Body, &body) != nil:
		return "invalid_body", "body is missing or no JSON object", "body"
	case body.Stream:
		return "invalid_body", "stream is true; a batch has no streams", "body.stream"
	}
	f.ids[l.CustomID] = true
	if model, ok := body.Model.(string); ok && len(f.models) < maxModels {
		f.models[model] = true
	}
	return "", "", ""
}
