package trace_test

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead/trace"
)

const azureHeader = "TIMESTAMP,ContextTokens,GeneratedTokens\n"

func TestReadTellsFormatsApart(t *testing.T) {
	for _, c := range []struct {
		name, file, text string
		want             []trace.Request
	}{
		{
			"azure, class of the file, CRLF, unsorted, no last newline", "traces/azure code.csv",
			"TIMESTAMP,ContextTokens,GeneratedTokens\r\n2023-11-16 18:17:04.5000000,7,3\r\n2023-11-16 18:17:03.2500000,4808,10",
			[]trace.Request{
				{Class: "azure_code", Input: 4808, Output: 10},
				{At: 1250 * time.Millisecond, Class: "azure_code", Input: 7, Output: 3},
			},
		},
		{
			"azure of 2024, byte order mark, other column order, own class", "x.csv",
			"\ufeffClass,GeneratedTokens,ContextTokens,TIMESTAMP\nconv,2,3,2024-05-10 00:00:00.009930+00:00\ncode,0,0,2024-05-10 02:00:00.009930+02:00\n",
			[]trace.Request{{Class: "conv", Input: 3, Output: 2}, {Class: "code"}},
		},
		{
			"mooncake, blank lines, first arrival is zero", "m.jsonl",
			"\n" + `{"timestamp": 2000, "input_length": 600, "output_length": 5, "hash_ids": [0, 9]}` + "\n\n" +
				`{"timestamp": 3000, "input_length": 600, "output_length": 6, "hash_ids": [0, 9]}` + "\n" +
				`{"timestamp": 5000, "input_length": 1100, "output_length": 7, "hash_ids": [0, 8, 9]}` + "\n" +
				`{"timestamp": 5000, "input_length": 10, "output_length": 8}`,
			[]trace.Request{
				{Class: "m", Input: 600, Output: 5, Session: "9"},
				{At: time.Second, Class: "m", Input: 600, Cached: 600, Output: 6, Session: "9"},
				{At: 3 * time.Second, Class: "m", Input: 1100, Cached: 512, Output: 7, Session: "8"},
				{At: 3 * time.Second, Class: "m", Input: 10, Output: 8},
			},
		},
		{
			"a nameless file", "", azureHeader + "2023-11-16 18:17:04,1,1",
			[]trace.Request{{Class: "default", Input: 1, Output: 1}},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := trace.Read(iotest.OneByteReader(strings.NewReader(c.text)), c.file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestReadNamesTheFault(t *testing.T) {
	const row, line = "2023-11-16 18:17:04,1,1\n", `{"timestamp": 1, "input_length": 2, "output_length": 3}` + "\n"
	for _, c := range []struct{ text, want string }{
		{"", "f: line 1: no requests; a trace holds at least one"},
		{" \n\n", "f: line 1: no requests; a trace holds at least one"},
		{azureHeader, "f: line 1: no requests; a trace holds at least one"},
		{"hello\n", "f: line 1: neither an Azure CSV"},
		{"TIMESTAMP,ContextTokens\n", "f: line 1: column GeneratedTokens is missing; only Class is optional"},
		{"TIMESTAMP,ContextTokens,GeneratedTokens,Klass\n", `f: line 1: unknown column "Klass"; the columns are`},
		{"TIMESTAMP,ContextTokens,GeneratedTokens,Class,Class\n", "f: line 1: column Class stands twice"},
		{azureHeader + row + "yesterday,1,1\n", `f: line 3, column 1 (TIMESTAMP): "yesterday" is no time like 2006-01-02`},
		{azureHeader + row + "2023-11-16 18:17:04,-1,1\n", `f: line 3, column 21 (ContextTokens): "-1" is no whole number from 0 to 2147483648`},
		{azureHeader + row + "2023-11-16 18:17:04,1,1e3\n", `f: line 3, column 23 (GeneratedTokens): "1e3" is no whole number`},
		{azureHeader + row + "2023-11-16 18:17:04,1,2147483649\n", `(GeneratedTokens): "2147483649" is no whole number`},
		{azureHeader + row + "2023-11-16 18:17:04,1\n", "f: line 3, column 1: wrong number of fields"},
		{azureHeader + "\"open\n", `f: line 2, column 7: extraneous or missing " in quoted-field`},
		{strings.TrimSpace(azureHeader) + ",Class\n2023-11-16 18:17:04,1,1,a.b\n", `f: line 2, column 25 (Class): class "a.b": use only`},
		{line + "{\"timestamp\": 1,\n", "f: line 2, column 16: unexpected end of JSON input"},
		{line + "[]\n", `f: line 2, column 1: array is no object like`},
		{line + `{"timestamp": "now"}`, "f: line 2, column 19, field timestamp: string is no whole number"},
		{line + `{"timestamp": 1, "input_length": 1.5}`, "field input_length: number 1.5 is no whole number"},
		{line + `{"timestamp": 1, "input_length": 1}`, "f: line 2, field output_length: missing; use a whole number"},
		{line + `{"timestamp": 1, "input_length": 1, "output_length": -1}`, "f: line 2, field output_length: -1 is not from 0 to 2147483648"},
		{line + `{"timestamp": 9223372036854775807, "input_length": 1, "output_length": 1}`, "f: line 2, field timestamp: 9223372036854775807 is not from 0 to 3153600000000"},
		{line + `{"timestamp": 1, "input_length": 1, "output_length": 1, "hash_ids": [-1]}`, "field hash_ids: number -1 is no whole number"},
		{line + "{" + strings.Repeat(" ", 1<<20), "f: line 2: longer than 1048576 bytes"},
	} {
		_, err := trace.Read(strings.NewReader(c.text), "f")
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.60q\n got %v\nwant %s", c.text, err, c.want)
		}
	}
}

func TestReadPassesOnReadErrors(t *testing.T) {
	fault := fmt.Errorf("disk on fire")
	for _, text := range []string{"", azureHeader, azureHeader + strings.Repeat("2023-11-16 18:17:04,1,1\n", 1000)} {
		_, err := trace.Read(io.MultiReader(strings.NewReader(text), iotest.ErrReader(fault)), "f")
		if err == nil || !strings.Contains(err.Error(), fault.Error()) {
			t.Errorf("after %d bytes: %v, want it to tell of %q", len(text), err, fault)
		}
	}
}

func TestReadersRefuseBadArguments(t *testing.T) {
	if _, err := trace.ReadAzure(strings.NewReader(azureHeader), "a.b"); err == nil {
		t.Error("ReadAzure took the class a.b")
	}
	if _, err := trace.ReadMooncake(strings.NewReader(""), "", 0); err == nil {
		t.Error("ReadMooncake took an empty class")
	}
	if _, err := trace.ReadMooncake(strings.NewReader(""), "m", -1); err == nil {
		t.Error("ReadMooncake took a cache of -1 tokens")
	}
}

func TestAzureFilesShareOneClock(t *testing.T) {
	got, err := trace.ReadAzureFiles(map[string]io.Reader{
		"late":  strings.NewReader(azureHeader + "2023-11-16 18:17:06,1,1\n2023-11-16 18:17:09,2,2\n"),
		"early": strings.NewReader(azureHeader + "2023-11-16 18:17:04,3,3\n2023-11-16 18:17:08,4,4\n"),
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []trace.Request{
		{At: 0, Class: "early", Input: 3, Output: 3},
		{At: 2 * time.Second, Class: "late", Input: 1, Output: 1},
		{At: 4 * time.Second, Class: "early", Input: 4, Output: 4},
		{At: 5 * time.Second, Class: "late", Input: 2, Output: 2},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	_, err = trace.ReadAzureFiles(map[string]io.Reader{"code": strings.NewReader("x")})
	if err == nil || !strings.Contains(err.Error(), "class code: line 1") {
		t.Errorf("error %v, want it to name the class and the line", err)
	}
}

// A cache of three blocks sees [1 2], [3 4], [1 2]: the tail of the oldest prompt
// goes first, so the head of the first still counts when it comes again.
func TestMooncakeCacheEvictsTailsOfOldPromptsFirst(t *testing.T) {
	const text = `{"timestamp": 0, "input_length": 1024, "output_length": 1, "hash_ids": [1, 2]}
{"timestamp": 1, "input_length": 1024, "output_length": 1, "hash_ids": [3, 4]}
{"timestamp": 2, "input_length": 1024, "output_length": 1, "hash_ids": [1, 2]}
{"timestamp": 3, "input_length": 1024, "output_length": 1, "hash_ids": [3, 4]}
`
	for _, c := range []struct {
		tokens int
		want   []int
	}{
		{0, []int{0, 0, 1024, 1024}},
		{3 * trace.BlockTokens, []int{0, 0, 512, 512}},
		{2 * trace.BlockTokens, []int{0, 0, 0, 0}},
		{1, []int{0, 0, 0, 0}},
	} {
		reqs, err := trace.ReadMooncake(strings.NewReader(text), "m", c.tokens)
		if err != nil {
			t.Fatal(err)
		}
		var got []int
		for _, r := range reqs {
			got = append(got, r.Cached)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("cache of %d tokens (-want +got)\n%s", c.tokens, diff)
		}
	}
}
