package agent

import (
	"context"
	"strings"
	"sync"
	"testing"

	"fairlead/agent/engine"
)

// logLines is a log that a test can wait on.
type logLines chan string

func (l logLines) Write(line []byte) (int, error) {
	select {
	case l <- string(line):
	default: // nobody waits for so much
	}
	return len(line), nil
}

// says waits for a line of the log.
func (l logLines) says(t testing.TB, what string) {
	t.Helper()
	receive(t, "the log to say "+what, l, func(line string) bool { return strings.Contains(line, what) })
}

// fake is an engine whose calls a test steers.
type fake struct {
	mu     sync.Mutex
	sick   error
	calls  chan *fakeCall
	script func(ctx context.Context, req engine.Request, emit engine.Emit) (engine.Result, error)
}

type fakeCall struct {
	req  engine.Request
	emit engine.Emit
	ctx  context.Context
	end  chan fakeEnd
}

type fakeEnd struct {
	res engine.Result
	err error
}

func newFake() *fake { return &fake{calls: make(chan *fakeCall, 16)} }

func (f *fake) Kind() string { return "fake" }

func (f *fake) Models(context.Context) ([]string, error) { return []string{"m"}, nil }

func (f *fake) Healthy(context.Context) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.sick
}

func (f *fake) setSick(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.sick = err
}

// Run follows the script, or waits for the test to end the call.
func (f *fake) Run(ctx context.Context, req engine.Request, emit engine.Emit) (engine.Result, error) {
	if f.script != nil {
		return f.script(ctx, req, emit)
	}
	c := &fakeCall{req: req, emit: emit, ctx: ctx, end: make(chan fakeEnd)}
	f.calls <- c
	select {
	case e := <-c.end:
		return e.res, e.err
	case <-ctx.Done():
		return engine.Result{}, ctx.Err() // not the cause: the agent must find it out
	}
}

// words is a script that streams two chunks.
func words(_ context.Context, req engine.Request, emit engine.Emit) (engine.Result, error) {
	if !req.Stream {
		return engine.Result{Body: []byte(`{"whole":true}`), ContentType: "application/json", Usage: usage}, nil
	}
	for _, s := range []string{`{"n":0}`, `{"n":1}`} {
		if err := emit([]byte(s)); err != nil {
			return engine.Result{}, err
		}
	}
	return engine.Result{Usage: usage}, nil
}
