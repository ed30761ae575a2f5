package cli

import (
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/mattn/go-isatty"
)

// progress shows on a terminal how far something is; elsewhere it shows nothing.
type progress struct {
	w    io.Writer
	what string

	mu   sync.Mutex // guards last
	last int        // per cent shown; -1 none
}

func newProgress(w io.Writer, what string) *progress {
	if f, ok := w.(*os.File); !ok || !isatty.IsTerminal(f.Fd()) {
		w = nil
	}
	return &progress{w: w, what: what, last: -1}
}

// at says that a part from 0 to 1 is done. It may be called by any goroutine.
func (p *progress) at(part float64) {
	if p.w == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if percent := int(100 * part); percent > p.last {
		p.last = percent
		fmt.Fprintf(p.w, "\r%s %d %%", p.what, percent)
	}
}

// play says how many settings a search has played, and what for.
func (p *progress) play(n int, what string) {
	if p.w == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last = 0
	fmt.Fprintf(p.w, "\r\x1b[Kplay %d %s", n, what)
}

// end takes the line away.
func (p *progress) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.w != nil && p.last >= 0 {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
}
