package prompt

import (
	"bytes"
	"encoding/json"
)

// message is a message of a chat, or an item of the responses API.
type message struct {
	Role         string          `json:"role"`
	Name         string          `json:"name"`
	Content      json.RawMessage `json:"content"`
	ToolCalls    json.RawMessage `json:"tool_calls"`
	FunctionCall json.RawMessage `json:"function_call"`
	Arguments    string          `json:"arguments"` // of an item that calls a function
	Output       json.RawMessage `json:"output"`    // of an item with its result
}

// messages takes a list of messages; what is none counts as the text that it is.
func (t *text) messages(raw json.RawMessage) {
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil {
		t.json(raw)
		return
	}
	for _, item := range list {
		t.message(item)
	}
}

func (t *text) message(raw json.RawMessage) {
	var m message
	if json.Unmarshal(raw, &m) != nil {
		t.json(raw)
		return
	}
	t.frame += perMessage
	t.add(m.Role)
	t.add(m.Name)
	t.content(m.Content)
	t.json(m.ToolCalls)
	t.json(m.FunctionCall)
	t.add(m.Arguments)
	t.content(m.Output)
}

// messagesOf takes the items of the responses API, if that is what raw is.
func (t *text) messagesOf(raw json.RawMessage) bool {
	var items []json.RawMessage
	if json.Unmarshal(raw, &items) != nil || len(items) == 0 || items[0][0] != '{' {
		return false
	}
	t.frame += perAnswer
	t.messages(raw)
	return true
}

// part is a piece of a message's content.
type part struct {
	Type     string          `json:"type"`
	Text     string          `json:"text"`
	Refusal  string          `json:"refusal"`
	Detail   string          `json:"detail"`
	ImageURL json.RawMessage `json:"image_url"` // an object in chats, a string in responses
	Audio    struct {
		Data string `json:"data"`
	} `json:"input_audio"`
	File     fileData `json:"file"`
	FileData string   `json:"file_data"`
}

type fileData struct {
	Data string `json:"file_data"`
}

// content takes a text, or a list of parts.
func (t *text) content(raw json.RawMessage) {
	var s string
	if len(raw) == 0 || bytes.Equal(raw, []byte("null")) {
		return
	}
	if json.Unmarshal(raw, &s) == nil {
		t.add(s)
		return
	}
	var parts []json.RawMessage
	if json.Unmarshal(raw, &parts) != nil {
		t.json(raw)
		return
	}
	for _, p := range parts {
		t.part(p)
	}
}

func (t *text) part(raw json.RawMessage) {
	var p part
	if json.Unmarshal(raw, &p) != nil {
		t.content(raw) // a bare string in a list
		return
	}
	t.add(p.Text)
	t.add(p.Refusal)
	if len(p.ImageURL) > 0 {
		t.frame += p.image()
	}
	t.frame += audioTokens(len(p.Audio.Data)) + fileTokens(len(p.File.Data)) + fileTokens(len(p.FileData))
}

// plain takes what completions and embeddings do: a text, a list of texts, a
// list of tokens, or a list of such lists.
func (t *text) plain(raw json.RawMessage) {
	var s string
	if len(raw) == 0 || bytes.Equal(raw, []byte("null")) {
		return
	}
	if json.Unmarshal(raw, &s) == nil {
		t.add(s)
		return
	}
	var tokens []float64
	if json.Unmarshal(raw, &tokens) == nil {
		t.frame += float64(len(tokens))
		return
	}
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil || raw[0] != '[' {
		t.json(raw)
		return
	}
	for _, item := range list {
		t.plain(item)
	}
}

// json takes a value as the text that it is.
func (t *text) json(raw json.RawMessage) {
	if len(raw) > 0 && !bytes.Equal(raw, []byte("null")) {
		t.add(string(raw))
	}
}
