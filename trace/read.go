package trace

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"path"
	"regexp"
	"strings"
)

// maxTokens bounds every count, as the request headers do.
const maxTokens = 1 << 31

// sniff is how many leading bytes decide the format.
const sniff = 4096

var errFormat = errors.New("line 1: neither an Azure CSV (header TIMESTAMP,ContextTokens,GeneratedTokens) " +
	"nor Mooncake JSON lines (one object a line), nor a recording of fairlead record")

// Read recognises the format of r by its content and reads it. The name, usually a
// file's, starts every error; its last element without extension becomes the class
// of requests whose format does not record one. Mooncake traces are read with a
// prefix cache that never evicts.
func Read(r io.Reader, name string) ([]Request, error) {
	reqs, err := readAny(r, classOf(name))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return reqs, nil
}

func readAny(r io.Reader, class string) ([]Request, error) {
	buffered := bufio.NewReaderSize(r, sniff)
	head, err := buffered.Peek(sniff)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	head = bytes.TrimLeft(bytes.TrimPrefix(head, []byte(byteOrderMark)), " \t\r\n")
	first, _, _ := bytes.Cut(head, []byte("\n"))
	switch {
	case len(head) == 0:
		return nil, errEmpty
	case IsRecording(first):
		rec, err := ReadRecording(buffered)
		if err != nil {
			return nil, err
		}
		return rec.plain()
	case head[0] == '{':
		return ReadMooncake(buffered, class, 0)
	case bytes.Contains(first, []byte(columnTime)):
		return ReadAzure(buffered, class)
	default:
		return nil, errFormat
	}
}

// byteOrderMark may stand before the first line of files saved on Windows.
const byteOrderMark = "\ufeff"

var errEmpty = errors.New("line 1: no requests; a trace holds at least one")

var className = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)

// checkClass refuses names that a subject token cannot hold.
func checkClass(class string) error {
	if !className.MatchString(class) {
		return fmt.Errorf("class %q: use only A-Z, a-z, 0-9, _ and -", class)
	}
	return nil
}

// classOf turns a file name into a class name: "traces/azure code.csv" is azure_code.
func classOf(name string) string {
	base := path.Base(strings.ReplaceAll(name, `\`, "/"))
	base = strings.TrimSuffix(base, path.Ext(base))
	if base == "" {
		return "default"
	}
	return underscored(base)
}

// underscored puts _ in the place of what a class may not have.
func underscored(name string) string {
	return strings.Map(func(r rune) rune {
		if className.MatchString(string(r)) {
			return r
		}
		return '_'
	}, name)
}
