package demo

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
)

// view shows a run as it goes.
type view interface {
	// show shows the figures until ctx ends. It asks for them as often as it likes.
	show(ctx context.Context, figures func() (Figures, error))
}

// sharesPace is how often the broker is asked for its account.
const sharesPace = 500 * time.Millisecond

// watch lets the view show the run, with fresh shares now and then, until the
// function that it returns is called; that waits for the end of both.
func (r *run) watch(ctx context.Context, v view) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var watchers sync.WaitGroup
	watchers.Go(func() { v.show(ctx, r.obs.figures) })
	watchers.Go(func() {
		every(ctx, sharesPace, func() {
			_ = r.shares(ctx) // the next one may do better, and the last one is checked
		})
	})
	return func() {
		cancel()
		watchers.Wait()
	}
}

// every calls f again and again until ctx ends.
func every(ctx context.Context, pace time.Duration, f func()) {
	ticker := time.NewTicker(pace)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			f()
		case <-ctx.Done():
			return
		}
	}
}

// plain writes a line now and then.
type plain struct{ w io.Writer }

const plainPace = 2 * time.Second

func (p plain) show(ctx context.Context, figures func() (Figures, error)) {
	every(ctx, plainPace, func() {
		if f, err := figures(); err == nil {
			fmt.Fprintln(p.w, progressLine(&f))
		}
	})
}

// progressLine is the state of a run in one line.
func progressLine(f *Figures) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s of %s done", count(f.Completed+f.Failed), count(f.Total))
	for i := range f.Classes {
		c := &f.Classes[i]
		fmt.Fprintf(&b, "; %s: %s queued, %s running, %s of the tokens (due %s)",
			c.Name, count(c.Queued), count(c.Running), percent(c.Share), percent(c.Entitlement))
	}
	return b.String()
}

// logs takes what the parts of a run log. A live table has no place for it: then
// it is kept, up to a bound, and written after the table is gone. Once the run has
// ended early nothing more is taken, because the parts only say that they leave.
type logs struct {
	w io.Writer

	mu   sync.Mutex // guards what follows, and the use of w
	kept bytes.Buffer
	keep bool // until flush
	shut bool
}

const maxKept = 64 << 10

// Write never fails: a log that cannot be written is nobody's concern.
func (l *logs) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.shut:
	case !l.keep:
		_, _ = l.w.Write(p)
	case l.kept.Len()+len(p) <= maxKept:
		l.kept.Write(p)
	}
	return len(p), nil
}

func (l *logs) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.shut = true
}

// flush writes what was kept.
func (l *logs) flush() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.keep = false
	_, _ = l.kept.WriteTo(l.w)
}
