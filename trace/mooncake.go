package trace

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"
)

// MooncakeGrid is the clock of the Mooncake conversation trace: arrivals stand
// three seconds apart, some ten at a time. See [Spread].
const MooncakeGrid = 3 * time.Second

// BlockTokens is the prompt length that one of Mooncake's hash_ids stands for.
const BlockTokens = 512

// maxLine bounds one line of JSON; the longest of the published files has 3 KiB.
const maxLine = 1 << 20

// ReadMooncake reads a Mooncake trace. A request's cached tokens are the leading
// blocks of its prompt that stand in a prefix cache fed with every earlier line.
// The cache holds cacheTokens tokens and evicts the least recently used block, of a
// prompt its tail first; 0 means that it never evicts. The session is the second
// block: all conversations share the first.
func ReadMooncake(r io.Reader, class string, cacheTokens int) ([]Request, error) {
	if err := checkClass(class); err != nil {
		return nil, err
	}
	if cacheTokens < 0 {
		return nil, fmt.Errorf("cache tokens %d: use 0 (endless) or more", cacheTokens)
	}
	lines := bufio.NewScanner(skipMark(r))
	lines.Buffer(nil, maxLine)
	cache := newPrefixCache(cacheTokens)
	var reqs []Request
	line := 1
	for ; lines.Scan(); line++ {
		text := bytes.TrimSpace(lines.Bytes())
		if len(text) == 0 {
			continue
		}
		row, err := parseMooncake(text)
		if err != nil {
			return nil, fmt.Errorf("line %d, %w", line, err)
		}
		reqs = append(reqs, row.request(class, cache))
	}
	if err := lines.Err(); err != nil {
		return nil, lineError(line, err)
	}
	if len(reqs) == 0 {
		return nil, errEmpty
	}
	fromZero(reqs)
	return reqs, nil
}

// fromZero sorts reqs and counts arrivals from the first.
func fromZero(reqs []Request) {
	sortByArrival(reqs)
	start := reqs[0].At
	for i := range reqs {
		reqs[i].At -= start
	}
}

func lineError(line int, err error) error {
	if errors.Is(err, bufio.ErrTooLong) {
		return fmt.Errorf("line %d: longer than %d bytes", line, maxLine)
	}
	return fmt.Errorf("read trace, line %d: %w", line, err)
}

// mooncakeRow is one line; pointers tell what is missing from what is 0.
type mooncakeRow struct {
	Timestamp *int64   `json:"timestamp"` // milliseconds
	Input     *int64   `json:"input_length"`
	Output    *int64   `json:"output_length"`
	Blocks    []uint64 `json:"hash_ids"`
}

func parseMooncake(text []byte) (mooncakeRow, error) {
	var row mooncakeRow
	if err := json.Unmarshal(text, &row); err != nil {
		return row, jsonError(err)
	}
	for _, field := range []struct {
		name  string
		value *int64
		limit int64
	}{
		{"timestamp", row.Timestamp, int64(maxTimestamp / time.Millisecond)},
		{"input_length", row.Input, maxTokens},
		{"output_length", row.Output, maxTokens},
	} {
		if field.value == nil {
			return row, fmt.Errorf("field %s: missing; use a whole number", field.name)
		}
		if *field.value < 0 || *field.value > field.limit {
			return row, fmt.Errorf("field %s: %d is not from 0 to %d", field.name, *field.value, field.limit)
		}
	}
	return row, nil
}

// maxTimestamp, a century, keeps arrivals far from the end of time.Duration.
const maxTimestamp = 100 * 365 * 24 * time.Hour

// jsonError puts the position of bad JSON into this package's words.
func jsonError(err error) error {
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		return fmt.Errorf("column %d: %w", syntax.Offset, err)
	}
	var mismatch *json.UnmarshalTypeError
	if errors.As(err, &mismatch) && mismatch.Field == "" {
		return fmt.Errorf("column %d: %s is no object like {\"timestamp\": 0, …}", mismatch.Offset, mismatch.Value)
	} else if errors.As(err, &mismatch) {
		return fmt.Errorf("column %d, field %s: %s is no whole number", mismatch.Offset, mismatch.Field, mismatch.Value)
	}
	return err
}

func (row mooncakeRow) request(class string, cache *prefixCache) Request {
	r := Request{
		At:     time.Duration(*row.Timestamp) * time.Millisecond,
		Class:  class,
		Input:  int(*row.Input),
		Cached: min(BlockTokens*cache.admit(row.Blocks), int(*row.Input)),
		Output: int(*row.Output),
	}
	if len(row.Blocks) > 1 {
		r.Session = strconv.FormatUint(row.Blocks[1], 10)
	}
	return r
}
