package prompt_test

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"image"
	"image/png"
	"math"
	"strings"
	"testing"

	"fairlead/gateway/prompt"
)

func read(t *testing.T, body string) prompt.Prompt {
	t.Helper()
	p, err := prompt.Read([]byte(body))
	if err != nil {
		t.Fatalf("%.200s: %v", body, err)
	}
	return p
}

func dataURL(t *testing.T, width, height int) string {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, width, height))); err != nil {
		t.Fatal(err)
	}
	return "data:image/png;base64," + base64.StdEncoding.EncodeToString(b.Bytes())
}

// Each body's count is that of the text by the vocabulary ("Hello world" is 2),
// and the frames and media of the package comment.
func TestInput(t *testing.T) {
	const image = `{"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":%q,"detail":%q}}]}]}`
	const frame = 3 + 3 + 1 // of one message of a user, and of the answer
	for name, c := range map[string]struct {
		body string
		want uint32
	}{
		"completion":      {`{"prompt":"Hello world"}`, 2},
		"several":         {`{"prompt":["Hello world","Hello world"]}`, 4},
		"tokens":          {`{"prompt":[1,2,3,4,5]}`, 5},
		"lists of tokens": {`{"input":[[1,2],[3]]}`, 3},
		"embedding":       {`{"input":"Hello world"}`, 2},
		"chat":            {`{"messages":[{"role":"user","content":"Hello world"}]}`, frame + 2},
		"name":            {`{"messages":[{"role":"user","name":"user","content":"Hello world"}]}`, frame + 3},
		"parts":           {`{"messages":[{"role":"user","content":[{"type":"text","text":"Hello"},{"type":"text","text":" world"}]}]}`, frame + 2},
		"tool":            {`{"messages":[{"role":"user","content":"Hello world"}],"tools":[{}]}`, frame + 2 + 8 + 3},
		"response":        {`{"input":"Hello world","instructions":"Hello"}`, 3},
		"items":           {`{"input":[{"role":"user","content":[{"type":"input_text","text":"Hello world"}]}]}`, frame + 2},
		"function output": {`{"input":[{"type":"function_call_output","output":"Hello world"}]}`, 3 + 3 + 2},
		"low detail":      {fmt.Sprintf(image, "https://example.com/a.png", "low"), frame + 85},
		"unknown size":    {fmt.Sprintf(image, "https://example.com/a.png", "high"), frame + 765},
		"small image":     {fmt.Sprintf(image, dataURL(t, 100, 100), ""), frame + 85 + 170},
		"wide image":      {fmt.Sprintf(image, dataURL(t, 4096, 1024), ""), frame + 85 + 170*4},
		"audio":           {fmt.Sprintf(`{"messages":[{"role":"user","content":[{"type":"input_audio","input_audio":{"data":%q}}]}]}`, strings.Repeat("A", 6400)), frame + 3},
		"file":            {fmt.Sprintf(`{"messages":[{"role":"user","content":[{"type":"file","file":{"file_data":%q}}]}]}`, strings.Repeat("A", 64)), frame + 12},
		"blanks":          {`{"input": [ [ 1 , 2 ] , [ ] , [3] ] }`, 3},
		"brackets":        {`{"prompt":["]","\\\"]",[1]]}`, 1 + 1 + 1},
		"bare part":       {`{"messages":[{"role":"user","content":["Hello world", 7]}]}`, frame + 3},
		"too deep":        {`{"prompt":[[["Hello world"]]]}`, 4},
		"null":            {`{"prompt":null,"tools":null,"messages":[{"role":"user","content":null}]}`, frame},
		"nothing":         {`{}`, 1},
	} {
		if got := read(t, c.body); got.Input != c.want || got.Sampled {
			t.Errorf("%s: %d tokens (sampled: %v); want %d", name, got.Input, got.Sampled, c.want)
		}
	}
}

func TestFields(t *testing.T) {
	for body, want := range map[string]prompt.Prompt{
		`{"model":"m","stream":true,"max_tokens":7}`:       {Model: "m", Stream: true, MaxOutput: 7},
		`{"max_completion_tokens":8,"max_tokens":7,"n":2}`: {MaxOutput: 16},
		`{"max_output_tokens":9}`:                          {MaxOutput: 9},
		`{"max_tokens":1e12}`:                              {MaxOutput: 1 << 31},
		`{"max_tokens":null,"stream":null,"model":null}`:   {},
	} {
		want.Input = 1
		if got := read(t, body); got != want {
			t.Errorf("%s: %+v; want %+v", body, got, want)
		}
	}
}

func TestRefused(t *testing.T) {
	for body, want := range map[string]string{
		"":                 "body: is empty",
		"[1]":              "body: is a JSON array",
		"{":                "body: not a JSON object",
		`{"model":3}`:      "model: is a JSON number; want a string",
		`{"stream":"yes"}`: "stream: is a JSON string; want a boolean",
		`{"model":"` + strings.Repeat("x", 257) + `"}`: "model: 257 bytes",
	} {
		if _, err := prompt.Read([]byte(body)); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%.40s: %v; want %q", body, err, want)
		}
	}
}

// A prompt of any length costs no more than its samples, and they are right
// within a few per cent for text of one kind.
func TestSamples(t *testing.T) {
	sentence := "The pilot took the slack until it lay fair between the chocks, and 12 lines ran out. "
	one := read(t, fmt.Sprintf(`{"prompt":%q}`, strings.Repeat(sentence, 1000)))
	if one.Sampled {
		t.Fatal("a short prompt was sampled")
	}
	ten := read(t, fmt.Sprintf(`{"prompt":%q}`, strings.Repeat(sentence, 10_000)))
	if ratio := float64(ten.Input) / float64(one.Input) / 10; !ten.Sampled || math.Abs(ratio-1) > 0.03 {
		t.Errorf("ten times the text has %d tokens, one time %d (sampled: %v); want ten times as many", ten.Input, one.Input, ten.Sampled)
	}
	var list []string
	for range 10_000 {
		list = append(list, fmt.Sprintf("%q", sentence))
	}
	parts := read(t, `{"prompt":[`+strings.Join(list, ",")+`]}`)
	if ratio := float64(parts.Input) / float64(ten.Input); !parts.Sampled || math.Abs(ratio-1) > 0.05 {
		t.Errorf("in pieces it has %d tokens, as a whole %d", parts.Input, ten.Input)
	}
}

func FuzzRead(f *testing.F) {
	for _, s := range []string{`{"messages":[{"role":"user","content":[{"image_url":"data:image/png;base64,iVBOR"}]}]}`, `{"input":[[1],"x",{}]}`, `{"tools":[1],"n":-1}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if p, err := prompt.Read(data); err == nil && p.Input < 1 {
			t.Errorf("%q: no tokens", data)
		}
	})
}

// BenchmarkRead is a chat of 1 MB, some 200,000 tokens, and one without a blank,
// which is the worst for a vocabulary.
func BenchmarkRead(b *testing.B) {
	for name, s := range map[string]string{
		"text":     strings.Repeat("the pilot took the slack ", 40_000),
		"no-blank": strings.Repeat("x", 1_000_000),
	} {
		body := fmt.Appendf(nil, `{"messages":[{"role":"user","content":%q}]}`, s)
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(body)))
			for b.Loop() {
				if _, err := prompt.Read(body); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
