package prompt

import (
	"sync"
	"unicode/utf8"

	"github.com/tiktoken-go/tokenizer"
)

// MaxExact is how much text of one prompt is counted; of more, samples are.
const MaxExact = 256 << 10 // bytes

const (
	pieceBytes = 4 << 10
	samples    = MaxExact / pieceBytes
)

// text gathers what is to be counted.
type text struct {
	pieces []string
	size   int     // bytes of them
	frame  float64 // tokens beside them
	items  int     // of lists that were taken apart
}

func (t *text) add(s string) {
	if s != "" {
		t.pieces = append(t.pieces, s)
		t.size += len(s)
	}
}

// count is the number of tokens, and whether samples had to do.
func (t *text) count() (tokens float64, sampled bool) {
	if t.size <= MaxExact {
		n := 0
		for _, s := range t.pieces {
			n += countText(s)
		}
		return t.frame + float64(n), false
	}
	n, seen := t.sample()
	return t.frame + float64(n)*float64(t.size)/float64(max(seen, 1)), true
}

// sample counts windows of the text that lie at even distances; a window may
// reach over several pieces.
func (t *text) sample() (tokens, seen int) {
	step, start := t.size/samples, 0 // start is where a piece begins in the whole
	for _, s := range t.pieces {
		for at := 0; at < len(s); {
			within := (start + at) % step // of the window, and then of the gap after it
			if within >= pieceBytes {
				at = runeEnd(s, at+step-within)
				continue
			}
			to := runeEnd(s, at+pieceBytes-within)
			tokens += countText(s[at:to])
			seen += to - at
			at = to
		}
		start += len(s)
	}
	return tokens, seen
}

// runeEnd is the end of the letter that i falls into.
func runeEnd(s string, i int) int {
	for i < len(s) && !utf8.RuneStart(s[i]) {
		i++
	}
	return min(i, len(s))
}

// countText counts a text piece by piece.
func countText(s string) (n int) {
	for s != "" {
		piece := firstPiece(s)
		s = s[len(piece):]
		tokens, err := vocabulary().Count(piece)
		if err != nil { // only the pattern's own limits; a quarter of the bytes is the broker's rule
			tokens = (len(piece) + 3) / 4
		}
		n += tokens
	}
	return n
}

// firstPiece is the beginning of s: all of a short text, else up to a blank, or
// to the end of a letter where there is none.
func firstPiece(s string) string {
	if len(s) <= pieceBytes {
		return s
	}
	for i := pieceBytes; i > pieceBytes/2; i-- {
		if s[i] == ' ' || s[i] == '\n' {
			return s[:i]
		}
	}
	return s[:runeEnd(s, pieceBytes)]
}

// vocabulary is read at its first use: it takes some 6 MB and 20 ms.
var vocabulary = sync.OnceValue(func() tokenizer.Codec {
	c, err := tokenizer.Get(tokenizer.O200kBase)
	if err != nil {
		panic("prompt: " + err.Error()) // a constant of the library
	}
	return c
})
