package trace

import (
	"bufio"
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"time"
)

const (
	columnTime   = "TIMESTAMP"
	columnInput  = "ContextTokens"
	columnOutput = "GeneratedTokens"
	columnClass  = "Class"
)

// azureTimes are the layouts of the 2023 and of the 2024 files.
var azureTimes = []string{"2006-01-02 15:04:05", "2006-01-02 15:04:05-07:00"}

// stamped is a request that still knows its wall clock.
type stamped struct {
	time.Time
	Request
}

// ReadAzure reads an Azure LLM inference trace. The class applies to rows without
// a Class column of their own.
func ReadAzure(r io.Reader, class string) ([]Request, error) {
	rows, err := parseAzure(r, class)
	if err != nil {
		return nil, err
	}
	return rebase(rows), nil
}

// ReadAzureFiles reads several Azure files that were recorded on one clock into one
// trace; the keys are the classes. It starts with the earliest request of any file.
func ReadAzureFiles(byClass map[string]io.Reader) ([]Request, error) {
	var all []stamped
	for _, class := range slices.Sorted(maps.Keys(byClass)) {
		rows, err := parseAzure(byClass[class], class)
		if err != nil {
			return nil, fmt.Errorf("class %s: %w", class, err)
		}
		all = append(all, rows...)
	}
	return rebase(all), nil
}

// rebase sorts rows by wall clock and counts arrivals from the first.
func rebase(rows []stamped) []Request {
	slices.SortStableFunc(rows, func(a, b stamped) int { return a.Compare(b.Time) })
	reqs := make([]Request, len(rows))
	for i, row := range rows {
		reqs[i] = row.Request
		reqs[i].At = row.Sub(rows[0].Time)
	}
	return reqs
}

func parseAzure(r io.Reader, class string) ([]stamped, error) {
	if err := checkClass(class); err != nil {
		return nil, err
	}
	file := csv.NewReader(skipMark(r))
	file.ReuseRecord = true
	header, err := file.Read()
	if errors.Is(err, io.EOF) {
		return nil, errEmpty
	} else if err != nil {
		return nil, csvError(err)
	}
	table := azureTable{file: file, class: class}
	if table.columns, err = azureColumns(header); err != nil {
		return nil, err
	}
	return table.rows()
}

// skipMark drops a byte order mark.
func skipMark(r io.Reader) io.Reader {
	buffered := bufio.NewReader(r)
	if head, err := buffered.Peek(len(byteOrderMark)); err == nil && string(head) == byteOrderMark {
		_, _ = buffered.Discard(len(byteOrderMark)) // peeked: it is there
	}
	return buffered
}

// azureColumns maps the names in the header to their positions.
func azureColumns(header []string) (map[string]int, error) {
	known := []string{columnTime, columnInput, columnOutput, columnClass}
	columns := make(map[string]int, len(known))
	for i, name := range header {
		if !slices.Contains(known, name) {
			return nil, fmt.Errorf("line 1: unknown column %q; the columns are %q", name, known)
		}
		if _, twice := columns[name]; twice {
			return nil, fmt.Errorf("line 1: column %s stands twice", name)
		}
		columns[name] = i
	}
	for _, name := range known[:3] {
		if _, ok := columns[name]; !ok {
			return nil, fmt.Errorf("line 1: column %s is missing; only %s is optional", name, columnClass)
		}
	}
	return columns, nil
}

// azureTable reads the rows below a header.
type azureTable struct {
	file    *csv.Reader
	columns map[string]int
	class   string // of rows that name none
}

func (t azureTable) rows() ([]stamped, error) {
	var rows []stamped
	for {
		record, err := t.file.Read()
		switch {
		case errors.Is(err, io.EOF) && len(rows) == 0:
			return nil, errEmpty
		case errors.Is(err, io.EOF):
			return rows, nil
		case err != nil:
			return nil, csvError(err)
		}
		row, err := t.row(record)
		if err != nil {
			return nil, err
		}
		rows = append(rows, row)
	}
}

func (t azureTable) row(record []string) (stamped, error) {
	at, errTime := parseTime(record[t.columns[columnTime]])
	input, errInput := parseTokens(record[t.columns[columnInput]])
	output, errOutput := parseTokens(record[t.columns[columnOutput]])
	class, errClass := t.class, error(nil)
	if i, ok := t.columns[columnClass]; ok {
		class = string([]byte(record[i])) // a copy: the record's memory is used again
		errClass = checkClass(class)
	}
	err := cmp.Or(
		t.at(columnTime, errTime), t.at(columnInput, errInput),
		t.at(columnOutput, errOutput), t.at(columnClass, errClass))
	return stamped{at, Request{Class: class, Input: input, Output: output}}, err
}

// at says where err, when there is one, stands in the file.
func (t azureTable) at(column string, err error) error {
	if err == nil {
		return nil
	}
	line, offset := t.file.FieldPos(t.columns[column])
	return fmt.Errorf("line %d, column %d (%s): %w", line, offset, column, err)
}

func parseTime(text string) (time.Time, error) {
	for _, layout := range azureTimes {
		if at, err := time.Parse(layout, text); err == nil {
			return at, nil
		}
	}
	return time.Time{}, fmt.Errorf("%q is no time like %s.0000000", text, azureTimes[0])
}

func parseTokens(text string) (int, error) {
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil || n > maxTokens {
		return 0, fmt.Errorf("%q is no whole number from 0 to %d", text, maxTokens)
	}
	return int(n), nil
}

// csvError puts the position of a malformed line into this package's words.
func csvError(err error) error {
	var malformed *csv.ParseError
	if !errors.As(err, &malformed) {
		return fmt.Errorf("read trace: %w", err)
	}
	return fmt.Errorf("line %d, column %d: %w", malformed.Line, malformed.Column, malformed.Err)
}
