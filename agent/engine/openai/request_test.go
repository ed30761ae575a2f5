package openai

import (
	"errors"
	"strings"
	"testing"

	"fairlead/agent/engine"
)

func TestPrepare(t *testing.T) {
	for name, tc := range map[string]struct {
		req  engine.Request
		want string
		hide bool
	}{
		"untouched":          {request(` { "a" : "<" } `), ` { "a" : "<" } `, false},
		"usage added":        {request(` { "stream":true, "a":"<" }`), `{"stream_options":{"include_usage":true}, "stream":true, "a":"<" }`, true},
		"usage asked":        {request(`{"stream":true,"stream_options":{"include_usage":true,"x":1}}`), `{"stream":true,"stream_options":{"include_usage":true,"x":1}}`, false},
		"usage declined":     {request(`{"stream":true,"stream_options":{"include_usage":false},"a":"<"}`), `{"a":"<","stream":true,"stream_options":{"include_usage":true}}`, true},
		"usage null":         {request(`{"stream":true,"stream_options":null}`), `{"stream":true,"stream_options":{"include_usage":true}}`, true},
		"model added":        {engine.Request{Path: engine.PathChat, Model: `m"`, Body: []byte(`{ }`)}, `{"model":"m\"" }`, false},
		"model kept":         {engine.Request{Path: engine.PathChat, Model: "m", Body: []byte(`{"model":"n"}`)}, `{"model":"n"}`, false},
		"no usage elsewhere": {engine.Request{Path: engine.PathEmbeddings, Stream: true, Body: []byte(`{}`)}, `{}`, false},
	} {
		body, hide, err := prepare(tc.req)
		if err != nil || string(body) != tc.want || hide != tc.hide {
			t.Errorf("%s: got %s, %v, %v, want %s, %v", name, body, hide, err, tc.want, tc.hide)
		}
	}
}

func TestPrepareRefuses(t *testing.T) {
	for body, want := range map[string]string{
		"":                 "body: is empty",
		`{"stream":"yes"}`: "body: stream is a JSON string",
		"null":             "no JSON object",
	} {
		_, _, err := prepare(engine.Request{Path: engine.PathChat, Model: "m", Body: []byte(body)})
		var re *engine.RequestError
		if !errors.As(err, &re) || re.Status != 400 || !strings.Contains(string(re.Body), want) {
			t.Errorf("%q: got %v, want %s", body, err, want)
		}
	}
}
