package prompt

import (
	"encoding/json"
	"runtime"
	"strings"
	"testing"
)

// However a body is cut up, taking it apart allocates a small multiple of its
// size: the fields of the body, those of its messages, and the text.
func TestMemory(t *testing.T) {
	const size = 4 << 20
	long := func(item string) string { return item + strings.Repeat(","+item, size/(len(item)+1)) }
	const depth = 9_990 // a few less than encoding/json takes
	deep := strings.Repeat("[", depth) + `"` + strings.Repeat("x", size) + `"` + strings.Repeat("]", depth)
	for name, data := range map[string]string{
		"deep prompt":     `{"prompt":` + deep + `}`,
		"deep input":      `{"input":` + deep + `}`,
		"deep content":    `{"messages":[{"role":"user","content":` + deep + `}]}`,
		"numbers":         `{"messages":[` + long("1") + `]}`,
		"messages":        `{"messages":[` + long("{}") + `]}`,
		"parts":           `{"messages":[{"role":"user","content":[` + long("{}") + `]}]}`,
		"bare parts":      `{"messages":[{"role":"user","content":[` + long("1") + `]}]}`,
		"texts":           `{"prompt":[` + long(`""`) + `]}`,
		"tokens":          `{"prompt":[` + long("1") + `]}`,
		"lists of tokens": `{"input":[` + long("[1]") + `]}`,
		"lists of lists":  `{"input":[` + long(`[["x"]]`) + `]}`,
		"items":           `{"input":[{},` + long("1") + `]}`,
		"tools":           `{"tools":[` + long("1") + `]}`,
	} {
		var before, after runtime.MemStats
		var b body
		var gathered text
		runtime.ReadMemStats(&before)
		if err := json.Unmarshal([]byte(data), &b); err != nil {
			t.Fatal(name, err)
		}
		b.collect(&gathered)
		runtime.ReadMemStats(&after)
		if times := (after.TotalAlloc - before.TotalAlloc) / uint64(len(data)); times > 8 {
			t.Errorf("%s: took %d times the size of the body", name, times)
		}
	}
}
