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
	if !isList(raw) {
		t.json(raw)
		return
	}
	t.each(raw, t.message)
}

func (t *text) message(raw json.RawMessage) {
	var m message
	if raw[0] != '{' || json.Unmarshal(raw, &m) != nil {
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
	if !isList(raw) {
		return false
	}
	for first := range items(raw) {
		if first[0] != '{' {
			return false
		}
		t.frame += perAnswer
		t.messages(raw)
		return true
	}
	return false
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
	if isList(raw) {
		t.each(raw, t.part)
		return
	}
	t.value(raw)
}

func (t *text) part(raw json.RawMessage) {
	var p part
	if raw[0] != '{' || json.Unmarshal(raw, &p) != nil {
		t.value(raw) // a bare string in a list
		return
	}
	t.add(p.Text)
	t.add(p.Refusal)
	if len(p.ImageURL) > 0 {
		t.frame += p.image()
	}
	t.frame += audioTokens(len(p.Audio.Data)) + fileTokens(len(p.File.Data)) + fileTokens(len(p.FileData))
}

// plainLists is how deep lists may lie in each other in what plain takes.
const plainLists = 2

// plain takes what completions and embeddings do: a text, a list of texts, a
// list of tokens, or a list of such lists.
func (t *text) plain(raw json.RawMessage, lists int) {
	switch {
	case !isList(raw) || lists == 0:
		t.value(raw)
	case bytes.ContainsAny(raw[1:], `"[{tfn`): // of all values only numbers have none of these
		t.each(raw, func(item json.RawMessage) { t.plain(item, lists-1) })
	default:
		t.frame += float64(count(raw))
	}
}

// value takes a string as its text, and anything else as the JSON that it is.
func (t *text) value(raw json.RawMessage) {
	var s string
	if len(raw) > 0 && raw[0] == '"' && json.Unmarshal(raw, &s) == nil {
		t.add(s)
		return
	}
	t.json(raw)
}

// json takes a value as the text that it is.
func (t *text) json(raw json.RawMessage) {
	if len(raw) > 0 && !bytes.Equal(raw, []byte("null")) {
		t.add(string(raw))
	}
}
