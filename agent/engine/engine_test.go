package engine

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestReadOptions(t *testing.T) {
	o, err := ReadOptions([]byte(`{"model":"m","stream":true,"max_tokens":5,"stream_options":{"include_usage":true},"messages":[{}]}`))
	if err != nil || o.Model != "m" || !o.Stream || !o.WantsUsage() || o.OutputLimit() != 5 {
		t.Fatalf("got %+v, %v", o, err)
	}
	o, err = ReadOptions([]byte(`{"max_tokens":5,"max_completion_tokens":7.0,"stream_options":null}`))
	if err != nil || o.OutputLimit() != 7 || o.WantsUsage() || o.Stream {
		t.Fatalf("got %+v, %v", o, err)
	}
}

func TestReadOptionsErrors(t *testing.T) {
	for body, want := range map[string]string{
		"":                              "body: is empty, want a JSON object",
		"\n":                            "body: is empty, want a JSON object",
		"[1]":                           "body: it is a JSON array",
		"{":                             "body: not a JSON object",
		`{"stream":"yes"}`:              "body: stream is a JSON string, want bool",
		`{"max_tokens":"12"}`:           "body: max_tokens is a JSON string, want float64",
		`{"max_tokens":1.5}`:            "body: max_tokens is 1.5, want a whole number",
		`{"max_completion_tokens":0.5}`: "body: max_completion_tokens is 0.5, want a whole number",
	} {
		_, err := ReadOptions([]byte(body))
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: got %v, want %s", body, err, want)
		}
	}
}

func TestUsage(t *testing.T) {
	for in, want := range map[string]Usage{
		`{"prompt_tokens":3,"completion_tokens":4}`:                                             {PromptTokens: 3, OutputTokens: 4, Known: true},
		`{"prompt_tokens":3,"completion_tokens":4,"prompt_tokens_details":{"cached_tokens":2}}`: {3, 2, 4, true, true},
		`{"input_tokens":3,"output_tokens":4,"input_tokens_details":{"cached_tokens":0}}`:       {3, 0, 4, true, true},
		`{"prompt_tokens":3,"prompt_tokens_details":null}`:                                      {PromptTokens: 3, Known: true},
		`null`:                 {},
		`{"prompt_tokens":-3}`: {Known: true},
	} {
		var got Usage
		if err := json.Unmarshal([]byte(in), &got); err != nil || got != want {
			t.Errorf("%s: got %+v, %v, want %+v", in, got, err, want)
		}
	}
	var u Usage
	if err := json.Unmarshal([]byte(`{"prompt_tokens":"x"}`), &u); err == nil {
		t.Error("a usage that is no number was read")
	}
}

func TestUsageRoundTrip(t *testing.T) {
	for _, want := range []Usage{{3, 2, 4, true, true}, {3, 0, 4, true, true}, {PromptTokens: 1, Known: true}} {
		data, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		var got Usage
		if err := json.Unmarshal(data, &got); err != nil || got != want {
			t.Errorf("%s: got %+v, %v, want %+v", data, got, err, want)
		}
	}
}
