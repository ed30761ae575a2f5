package mock

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"fairlead/agent/engine"
)

// errDied is how a request ends that the failure "die" struck.
var errDied = errors.New("mock engine: died in the middle of the answer")

// Engine runs a [Model] in real time and speaks for it. One goroutine owns the
// model; Run talks to it over channels. Close ends it.
type Engine struct {
	cfg     Config
	words   []string
	changes chan change
	stop    chan struct{}
	ended   chan struct{}
	close   sync.Once

	mu       sync.Mutex // guards fates and occupied
	fates    *Fates
	occupied int // calls inside Run that take a slot or wait for one
}

var _ engine.Engine = (*Engine)(nil)

// New starts a mock engine. The error names the field at fault.
func New(cfg Config) (*Engine, error) {
	cfg = cfg.WithDefaults()
	if err := cfg.validate(); err != nil {
		return nil, fmt.Errorf("mock engine: %w", err)
	}
	e := &Engine{
		cfg:     cfg,
		words:   strings.Fields(words),
		changes: make(chan change),
		stop:    make(chan struct{}),
		ended:   make(chan struct{}),
		fates:   NewFates(cfg.Failures, cfg.Seed),
	}
	go e.loop(newModel(cfg))
	return e, nil
}

// Close ends the engine and every call in it. It may be called more than once.
func (e *Engine) Close() error {
	e.close.Do(func() { close(e.stop) })
	<-e.ended
	return nil
}

// Kind is "mock".
func (e *Engine) Kind() string { return "mock" }

// Models lists the configured names.
func (e *Engine) Models(context.Context) ([]string, error) { return slices.Clone(e.cfg.Models), nil }

// Healthy fails only when the engine is closed.
func (e *Engine) Healthy(context.Context) error {
	select {
	case <-e.stop:
		return &engine.UnavailableError{Err: errors.New("mock engine: closed")}
	default:
		return nil
	}
}

// Load tells how many calls have a slot and how many wait for one.
func (e *Engine) Load(context.Context) (engine.Load, error) {
	e.mu.Lock()
	occupied := e.occupied
	e.mu.Unlock()
	running := min(occupied, e.cfg.Slots)
	return engine.Load{
		At: time.Now(), Running: new(uint32(running)), Waiting: new(uint32(occupied - running)), Slots: e.cfg.Slots,
	}, nil
}

// Run answers with made-up words, at the model's pace.
func (e *Engine) Run(ctx context.Context, req engine.Request, emit engine.Emit) (engine.Result, error) {
	a, err := e.newAnswer(req)
	if err != nil {
		return engine.Result{}, err
	}
	fate, err := e.enter()
	if err != nil {
		return engine.Result{}, err
	}
	defer e.exit()
	c := newCall(a, fate)
	if err := e.join(ctx, c); err != nil {
		return engine.Result{}, err
	}
	res, err := e.follow(ctx, c, req.Prefilled, emit)
	if err != nil {
		e.leave(c)
	}
	return res, err
}

// enter draws the request's fate and counts it in.
func (e *Engine) enter() (Failure, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	fate := e.fates.Next()
	if fate.Kind == Refuse || e.cfg.RefuseWhenFull && e.occupied >= e.cfg.Slots {
		wait := fate.RetryAfter
		orDefault(&wait, time.Second)
		return fate, &engine.BusyError{RetryAfter: wait}
	}
	e.occupied++
	return fate, nil
}

func (e *Engine) exit() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.occupied--
}

// follow emits what the loop produces for the call, until all is out. The loop is
// first heard of when the prefill has ended.
func (e *Engine) follow(ctx context.Context, c *call, prefilled func(), emit engine.Emit) (res engine.Result, err error) {
	start := time.Now()
	defer func() {
		res.Total = time.Since(start)
		res.Usage = c.answer.usage(c.emitted)
	}()
	for c.emitted < c.answer.output {
		if err := e.wait(ctx, c); err != nil {
			return res, err
		}
		if prefilled != nil {
			prefilled()
			prefilled = nil
		}
		produced := c.visible()
		if c.emitted == 0 && produced > 0 {
			res.FirstToken = time.Since(start)
		}
		if err := c.emitUpTo(produced, e.cfg.Stride, emit); err != nil {
			return res, err
		}
		if c.fate == Die && produced == c.half() {
			return res, errDied
		}
	}
	return c.finish(res, emit)
}

// wait blocks until there may be more tokens.
func (e *Engine) wait(ctx context.Context, c *call) error {
	select {
	case <-c.more:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-e.stop:
		return &engine.UnavailableError{Err: errors.New("mock engine: closed")}
	}
}

func (e *Engine) join(ctx context.Context, c *call) error {
	select {
	case e.changes <- change{call: c}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-e.stop:
		return &engine.UnavailableError{Err: errors.New("mock engine: closed")}
	}
}

// leave takes a broken-off call out of the model, so that it frees its slot.
func (e *Engine) leave(c *call) {
	select {
	case e.changes <- change{call: c, leaves: true}:
	case <-e.stop:
	}
}
