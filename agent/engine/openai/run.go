package openai

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"time"

	"fairlead/agent/engine"
)

// Run calls the engine; see the package documentation for what it promises.
func (e *Engine) Run(ctx context.Context, req engine.Request, emit engine.Emit) (engine.Result, error) {
	start := time.Now()
	res, err := e.run(ctx, req, func(data []byte, res *engine.Result) error {
		if res.FirstToken == 0 {
			res.FirstToken = time.Since(start)
		}
		return emit(data)
	})
	res.Total = time.Since(start)
	if err == nil && res.FirstToken == 0 {
		res.FirstToken = res.Total // a whole answer shows its first token with its last
	}
	return res, err
}

// emitInto is Emit with the result at hand, for the time of the first token.
type emitInto func(data []byte, res *engine.Result) error

func (e *Engine) run(ctx context.Context, req engine.Request, emit emitInto) (engine.Result, error) {
	body, hideUsage, err := prepare(req)
	if err != nil {
		return engine.Result{}, err
	}
	ctx, life := newPulse(ctx, e.cfg.Stall)
	defer life.stop()
	out, err := e.newRequest(ctx, req, body)
	if err != nil {
		return engine.Result{}, err
	}
	resp, err := e.client.Do(out)
	if err != nil {
		return engine.Result{}, reachError(ctx, err)
	}
	defer resp.Body.Close()
	live := life.watch(resp.Body)
	if resp.StatusCode/100 != 2 {
		return engine.Result{}, refusal(resp, live, time.Now())
	}
	a := answer{engine: e, req: req, hideUsage: hideUsage, emit: emit}
	res, err := a.read(resp, live)
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx) // that the connection broke is only how it shows
	}
	return res, err
}

// answer reads a successful response.
type answer struct {
	engine    *Engine
	req       engine.Request
	hideUsage bool
	emit      emitInto
}

func (a answer) read(resp *http.Response, body io.Reader) (engine.Result, error) {
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")) // an unreadable one is treated as JSON
	if kind == "text/event-stream" {
		if !a.req.Stream {
			return engine.Result{}, errors.New("the engine streams an answer to a request that did not ask for it")
		}
		return a.stream(body)
	}
	return a.whole(resp.Header.Get("Content-Type"), body)
}

// whole reads an answer in one piece: what was asked for, or all that an engine
// without streaming has to offer.
func (a answer) whole(contentType string, body io.Reader) (engine.Result, error) {
	data, err := readBounded(body, a.engine.cfg.MaxBody)
	if err != nil {
		return engine.Result{}, err
	}
	var top struct {
		Usage engine.Usage `json:"usage"`
	}
	if err := json.Unmarshal(data, &top); err != nil {
		return engine.Result{}, fmt.Errorf("read the engine's answer: %w", err)
	}
	return engine.Result{Body: data, ContentType: contentType, Usage: top.Usage}, nil
}
