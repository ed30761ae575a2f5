package wire_test

import (
	"maps"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead/wire"
)

// document is subjects.md as its tables: by heading, rows of cells.
type document map[string][][]string

func readDocument(t *testing.T) document {
	t.Helper()
	data, err := os.ReadFile("../subjects.md")
	if err != nil {
		t.Fatal(err)
	}
	doc, section := document{}, ""
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSpace(line)
		if title, ok := strings.CutPrefix(strings.TrimLeft(line, "#"), " "); ok && strings.HasPrefix(line, "#") {
			section = title
			continue
		}
		if !strings.HasPrefix(line, "| ") {
			continue
		}
		cells := strings.Split(strings.Trim(line, "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		doc[section] = append(doc[section], cells)
	}
	return doc
}

var code = regexp.MustCompile("`([^`]*)`")

// codes are the words of a cell that are set as code.
func codes(cell string) []string {
	var words []string
	for _, m := range code.FindAllStringSubmatch(cell, -1) {
		words = append(words, m[1])
	}
	return words
}

// rows are a section's rows without the heading of its table, each with the one
// word of its first cell.
func (d document) rows(t *testing.T, section string) map[string][]string {
	t.Helper()
	if len(d[section]) < 2 {
		t.Fatalf("subjects.md has no table under %q", section)
	}
	rows := map[string][]string{}
	for _, cells := range d[section][1:] {
		words := codes(cells[0])
		if len(words) != 1 {
			t.Fatalf("%s: first cell %q; want one word as code", section, cells[0])
		}
		if _, twice := rows[words[0]]; twice {
			t.Errorf("%s: %s is there twice", section, words[0])
		}
		rows[words[0]] = cells[1:]
	}
	return rows
}

func (d document) names(t *testing.T, sections ...string) []string {
	t.Helper()
	var names []string
	for _, s := range sections {
		names = append(names, slices.Collect(maps.Keys(d.rows(t, s)))...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func same(t *testing.T, what string, code, doc []string) {
	t.Helper()
	slices.Sort(code)
	slices.Sort(doc)
	if diff := cmp.Diff(slices.Compact(code), doc); diff != "" {
		t.Errorf("%s: -code +subjects.md\n%s", what, diff)
	}
}

// subjectMethods calls every method of Names that makes a subject.
var subjectMethods = map[string]func(wire.Names) string{
	"Req":       func(n wire.Names) string { return n.Req("<class>") },
	"ReqPinned": func(n wire.Names) string { return n.ReqPinned("<class>", "<worker>") },
	"Work":      func(n wire.Names) string { return number(n.Work("<worker>", 7), "<incarnation>") },
	"Reg":       func(n wire.Names) string { return n.Reg("<worker>") },
	"Verdict":   func(n wire.Names) string { return number(n.Verdict(7), "<id>") },
	"Lead":      wire.Names.Lead,
	"Epoch":     func(n wire.Names) string { return number(n.Epoch(7), "<k>") },
	"DRR":       wire.Names.DRR,
	"Done":      func(n wire.Names) string { return n.Done("<worker>") },
	"Res":       func(n wire.Names) string { return number(n.Res(7), "<id>") },
	"Dead":      func(n wire.Names) string { return n.Dead("<class>") },
	"Load":      func(n wire.Names) string { return n.Load("<worker>") },
	"Ev":        func(n wire.Names) string { return n.Ev("<worker>") },
	"Agent":     func(n wire.Names) string { return number(n.Agent("<worker>", 7), "<incarnation>") },
	"Policy":    wire.Names.Policy,
	"CtlCancel": wire.Names.CtlCancel,
	"CtlStatus": wire.Names.CtlStatus,
	"CtlModels": wire.Names.CtlModels,
}

func number(subject, placeholder string) string {
	return strings.TrimSuffix(subject, "7") + placeholder
}

var otherMethods = []string{"BucketBodies", "Captured", "Namespace", "Ours", "SplitID", "SplitReq", "SplitWork"}

func TestDocumentSubjects(t *testing.T) {
	var inCode []string
	for name := range methods(reflect.TypeFor[wire.Names]()) {
		call, known := subjectMethods[name]
		switch {
		case known:
			inCode = append(inCode, call(wire.Names{}))
		case !strings.HasPrefix(name, "Stream") && !slices.Contains(otherMethods, name):
			t.Errorf("Names.%s is new: add it here and to subjects.md", name)
		}
	}
	doc := readDocument(t)
	same(t, "subjects", inCode, doc.names(t, "Subjects"))
	for subject, cells := range doc.rows(t, "Subjects") {
		if !(wire.Names{}).Ours(subject) {
			t.Errorf("%s may be named as a reply subject", subject)
		}
		_, stream, captured := strings.Cut(cells[0], "JetStream, ")
		if captured != slices.ContainsFunc((wire.Names{}).Captured(stream), func(w string) bool { return matches(w, subject) }) {
			t.Errorf("%s: %q; want the stream that captures it", subject, cells[0])
		}
	}
}

func methods(t reflect.Type) map[string]bool {
	names := map[string]bool{}
	for m := range t.Methods() {
		names[m.Name] = true
	}
	return names
}

// matches reports whether a wildcard of single tokens takes a subject.
func matches(wildcard, subject string) bool {
	w, s := strings.Split(wildcard, "."), strings.Split(subject, ".")
	return slices.EqualFunc(w, s, func(a, b string) bool { return a == "*" || a == b })
}

func TestDocumentStreams(t *testing.T) {
	n := wire.Names{}
	inCode := map[string][]string{}
	for name := range methods(reflect.TypeFor[wire.Names]()) {
		if !strings.HasPrefix(name, "Stream") {
			continue
		}
		stream := reflect.ValueOf(n).MethodByName(name).Call(nil)[0].String()
		inCode[stream] = n.Captured(stream)
	}
	inDoc := map[string][]string{}
	for stream, cells := range readDocument(t).rows(t, "Streams") {
		inDoc[stream] = codes(cells[0])
	}
	if diff := cmp.Diff(inCode, inDoc); diff != "" {
		t.Errorf("streams: -code +subjects.md\n%s", diff)
	}
}

func TestDocumentHeaders(t *testing.T) {
	doc := readDocument(t)
	same(t, "request headers", wire.RequestHeaders(), doc.names(t, "Request headers"))
	same(t, "headers", slices.Collect(maps.Values(constants(t, "Header"))),
		doc.names(t, "Request headers", "Server headers", "Result headers", "Dead letter headers", "Policy headers"))
}

// Every example of a request header must be taken, and every default is one
// that the code has.
func TestDocumentExamples(t *testing.T) {
	for header, cells := range readDocument(t).rows(t, "Request headers") {
		example := codes(cells[2])
		if len(example) != 1 {
			t.Errorf("%s: example %q; want one as code", header, cells[2])
			continue
		}
		h := one(header, example[0])
		size := 0
		switch header {
		case wire.HeaderDPRank:
			h[wire.HeaderPinWorker] = []string{"gpu-1"}
		case wire.HeaderBody, wire.HeaderBodySize:
			h[wire.HeaderBody], size = []string{"b-1"}, -1
		}
		if _, refusal := rules(t, "").ParseRequest(message("", size, h)); refusal != nil {
			t.Errorf("%s: its example is refused: %v", header, refusal)
		}
	}
	h := wire.Header{}
	for header, cells := range readDocument(t).rows(t, "Result headers") {
		h[header] = codes(cells[2])
	}
	m, err := wire.ParseResult(h)
	if err != nil || !m.Final || m.Usage == nil || m.Usage.Cached != -1 {
		t.Errorf("the examples of result headers read as %+v, %v", m, err)
	}
}

func TestDocumentReasonsAndPaths(t *testing.T) {
	doc := readDocument(t)
	inCode, inDoc := map[string]string{}, map[string]string{}
	for r, c := range wire.Reasons() {
		inCode[string(r)] = strconv.Itoa(c)
	}
	for r, cells := range doc.rows(t, "Reasons") {
		inDoc[r] = cells[0]
	}
	if diff := cmp.Diff(inCode, inDoc); diff != "" {
		t.Errorf("reasons: -code +subjects.md\n%s", diff)
	}
	same(t, "paths", wire.Paths(), doc.names(t, "Paths"))
}

func TestDocumentMessages(t *testing.T) {
	doc := readDocument(t)
	described := structs(t)
	if len(described) < 15 {
		t.Fatalf("found only %d messages in the code", len(described))
	}
	for name, fields := range described {
		inDoc := map[string]string{}
		for key, cells := range doc.rows(t, name) {
			inDoc[key] = cells[0]
		}
		if diff := cmp.Diff(fields, inDoc); diff != "" {
			t.Errorf("%s: -code +subjects.md\n%s", name, diff)
		}
	}
	for section, rows := range doc {
		if rows[0][0] == "key" && described[section] == nil {
			t.Errorf("%s is documented as a message and is none in the code", section)
		}
	}
}

func TestDocumentValues(t *testing.T) {
	inCode := map[string][]string{}
	for name, value := range constants(t, "") {
		if typ, _, ok := strings.Cut(name, "\x00"); ok && typ != "Reason" {
			inCode[typ] = append(inCode[typ], value)
		}
	}
	inDoc := map[string][]string{}
	for _, cells := range readDocument(t)["Values"][1:] {
		inDoc[cells[0]] = codes(cells[1])
	}
	for _, m := range []map[string][]string{inCode, inDoc} {
		for _, values := range m {
			slices.Sort(values)
		}
	}
	if diff := cmp.Diff(inCode, inDoc); diff != "" {
		t.Errorf("values: -code +subjects.md\n%s", diff)
	}
}
