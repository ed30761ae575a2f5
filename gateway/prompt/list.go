package prompt

import (
	"bytes"
	"encoding/json"
	"iter"
)

// maxItems is how many items the lists of one body are taken apart into. What
// comes after them counts as the text that it is, so that a body costs a small
// multiple of its own size, however it is cut up.
const maxItems = 16 << 10

// each takes a list, item by item.
func (t *text) each(list json.RawMessage, take func(json.RawMessage)) {
	for item, rest := range items(list) {
		if t.items++; t.items > maxItems {
			t.json(rest)
			return
		}
		take(item)
	}
}

func isList(raw json.RawMessage) bool { return len(raw) > 0 && raw[0] == '[' }

// count is the length of a list, 0 of what is none.
func count(raw json.RawMessage) (n int) {
	if isList(raw) {
		for range items(raw) {
			n++
		}
	}
	return n
}

// items iterates over a list: each item, and all that is left of the list from
// it on. Nothing is copied, and nothing of the items read: as the list has been
// found to be JSON, quotes and brackets tell where each ends.
func items(list json.RawMessage) iter.Seq2[json.RawMessage, json.RawMessage] {
	return func(yield func(item, rest json.RawMessage) bool) {
		rest := bytes.TrimSpace(list[1:])
		for rest[0] != ']' {
			end := itemEnd(rest)
			if !yield(bytes.TrimSpace(rest[:end]), rest) {
				return
			}
			rest = bytes.TrimPrefix(rest[end:], []byte(","))
		}
	}
}

// itemEnd is where the item at the beginning of raw ends: at the comma or the
// bracket after it.
func itemEnd(raw []byte) int {
	depth, quoted := 0, false
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '[' || c == '{':
			depth++
		case depth == 0 && (c == ',' || c == ']'):
			return i
		case c == ']' || c == '}':
			depth--
		}
	}
	return len(raw)
}
