package openai

import (
	"context"
	"fmt"
	"io"
	"time"
)

// pulse ends a call whose engine has shown no sign of life for too long.
type pulse struct {
	every  time.Duration
	timer  *time.Timer
	cancel context.CancelCauseFunc
}

func newPulse(ctx context.Context, every time.Duration) (context.Context, *pulse) {
	ctx, cancel := context.WithCancelCause(ctx)
	stalled := func() { cancel(fmt.Errorf("the engine sent nothing for %s", every)) }
	return ctx, &pulse{every: every, timer: time.AfterFunc(every, stalled), cancel: cancel}
}

func (p *pulse) stop() {
	p.timer.Stop()
	p.cancel(nil)
}

// watch counts every read of r as life.
func (p *pulse) watch(r io.Reader) io.Reader { return &watched{r, p} }

type watched struct {
	io.Reader
	pulse *pulse
}

func (w *watched) Read(b []byte) (int, error) {
	n, err := w.Reader.Read(b)
	w.pulse.timer.Reset(w.pulse.every)
	return n, err
}
