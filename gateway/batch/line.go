package batch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"fairlead/client"
	"fairlead/wire"
)

// state is what is written down of a line.
type state struct {
	ID   uint64          `json:"id,omitempty"`  // of its request
	Try  int             `json:"try,omitempty"` // how often it was asked before
	Done bool            `json:"done,omitempty"`
	OK   bool            `json:"ok,omitempty"`
	Out  json.RawMessage `json:"out,omitempty"` // its line of the result

	revision uint64 // of the entry that says so; 0 when there is none
}

// next is the state before another try.
func (s state) next() state { return state{Try: s.Try + 1, revision: s.revision} }

// asking is a line that is to be asked.
type asking struct {
	n     int
	text  []byte
	batch *Batch
	state state
}

// outLine is a line of a file of results, as OpenAI has it.
type outLine struct {
	ID       string       `json:"id"`
	CustomID string       `json:"custom_id"`
	Response *outResponse `json:"response"`
	Error    *outError    `json:"error"`
}

type outResponse struct {
	StatusCode int             `json:"status_code"`
	RequestID  string          `json:"request_id"`
	Body       json.RawMessage `json:"body"`
}

type outError struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

func lineKey(id string, n int) string { return id + "." + strconv.Itoa(n) }

const (
	busyWait  = time.Second     // before asking again, when nobody says how long
	busyMax   = time.Minute     // the longest of these waits
	awayWait  = 5 * time.Second // before asking again while no worker serves a line
	maxLost   = 5               // how often a lost result is asked for again
	stopGrace = 5 * time.Second // for cancelling a line's request
)

// line takes a line to its result, unless ctx ends first.
func (x *run) line(ctx context.Context, a asking) {
	var l line
	if err := json.Unmarshal(a.text, &l); err != nil {
		x.finish(ctx, &a, x.failure(&a, "", err)) // it was checked: the file is not what it was
		return
	}
	req, err := x.Prepare(a.batch.Endpoint, l.Body, &a.batch.Options)
	if err == nil && !slices.Contains(a.batch.Models, req.Model) {
		err = x.Serves(req.Model)
	}
	if err != nil {
		x.finish(ctx, &a, x.failure(&a, l.CustomID, err))
		return
	}
	req.Stored = true
	for ctx.Err() == nil {
		res, err := x.attempt(ctx, &a, req)
		wait, again := x.again(&a, err)
		switch {
		case err == nil:
			x.finish(ctx, &a, x.success(&a, l.CustomID, res))
			return
		case ctx.Err() != nil:
			x.stopLine(ctx, a.state.ID)
			return
		case !again:
			x.finish(ctx, &a, x.failure(&a, l.CustomID, err))
			return
		}
		sleep(ctx, wait)
	}
}

// attempt asks the line, or takes up what was asked before, and waits for the result.
func (x *run) attempt(ctx context.Context, a *asking, req client.Request) (*client.Result, error) {
	var p *client.Pending
	var err error
	if a.state.ID == 0 {
		req.IdempotencyKey = fmt.Sprintf("batch.%s.%d.%d", x.id, a.n, a.state.Try)
		// Whatever ends meanwhile: only a request with an id can be cancelled, or
		// taken up by another gateway.
		if p, err = x.Client.Submit(context.WithoutCancel(ctx), req); err != nil {
			return nil, err
		}
		a.state.ID = p.ID
		x.note(ctx, a)
	} else if p, err = x.Client.Await(ctx, a.state.ID); err != nil {
		return nil, err
	}
	defer p.Close()
	return p.Result(ctx)
}

// again says whether a line is worth another try, and after how long: it is when
// it was not taken, its result was lost, or the workers that served it are away.
func (x *run) again(a *asking, err error) (wait time.Duration, again bool) {
	var e *client.Error
	switch {
	case err == nil:
		return 0, false
	case !errors.As(err, &e):
		return busyWait, true // the store does not answer now
	case e.Reason == wire.QueueFull || e.Reason == wire.Displaced:
		a.state = a.state.next()
		return max(busyWait, min(e.RetryAfter, busyMax)), true
	case e.Reason == wire.NoWorker || e.Reason == wire.ModelNotFound:
		a.state = a.state.next()
		return max(awayWait, min(e.RetryAfter, busyMax)), true
	case e.Reason == wire.ResultLost && a.state.Try < maxLost:
		a.state = a.state.next()
		return 0, true
	}
	return 0, false
}

func sleep(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// stopLine cancels a line's request when its batch was cancelled or has expired.
// When only this gateway leaves, the next one takes the request up.
func (x *run) stopLine(ctx context.Context, id uint64) {
	cause := context.Cause(ctx)
	if id == 0 || !errors.Is(cause, errCancelled) && !errors.Is(cause, errExpired) {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopGrace)
	defer cancel()
	if _, err := x.Client.Cancel(ctx, id); err != nil {
		x.Log.Debug().Err(err).Uint64("id", id).Msg("a line of a batch that ends goes on")
	}
}

func (x *run) success(a *asking, customID string, res *client.Result) state {
	body := json.RawMessage(res.Body)
	if !json.Valid(body) {
		body = encode(string(res.Body))
	}
	return state{Done: true, OK: true, Out: x.out(a, customID, &outResponse{StatusCode: http.StatusOK, Body: body}, nil)}
}

func (x *run) failure(a *asking, customID string, err error) state {
	status, body, code, message := x.Describe(err)
	return state{Done: true, Out: x.out(a, customID, &outResponse{StatusCode: status, Body: body}, &outError{Code: code, Message: message})}
}

func (x *run) out(a *asking, customID string, r *outResponse, e *outError) json.RawMessage {
	if r != nil {
		r.RequestID = strconv.FormatUint(a.state.ID, 10)
	}
	return encode(outLine{ID: fmt.Sprintf("batch_req_%s_%d", strings.TrimPrefix(x.id, "batch_"), a.n), CustomID: customID, Response: r, Error: e})
}

// finish writes a result down and counts it. One that is too long for the store is
// an error instead.
func (x *run) finish(ctx context.Context, a *asking, st state) {
	if limit := x.Store.maxLine(); int64(len(st.Out)) > limit {
		var o outLine
		_ = json.Unmarshal(st.Out, &o) // just made
		o.Response, o.Error = nil, &outError{Code: string(wire.TooLarge), Message: fmt.Sprintf("the answer has more than %d bytes", limit)}
		st = state{Done: true, Out: encode(o)}
	}
	st, ok := x.write(ctx, a, st)
	if !ok {
		return // it is done again by whoever holds the batch then
	}
	x.Lines(st.OK)
	x.mu.Lock()
	defer x.mu.Unlock()
	x.states[a.n] = state{Done: true, OK: st.OK}
	x.count(st)
}

func (x *run) count(st state) {
	if st.OK {
		x.counts.Completed++
	} else {
		x.counts.Failed++
	}
}

// write writes the state of a line down, until that works or ctx ends, and returns
// what is written there then. What another holder of the batch wrote meanwhile stays,
// unless it is only an id and this is a result.
func (x *run) write(ctx context.Context, a *asking, st state) (state, bool) {
	for ctx.Err() == nil {
		revision, err := x.b.lines.Update(ctx, lineKey(x.id, a.n), encode(st), a.state.revision)
		if err == nil {
			a.state.revision = revision
			return st, true
		}
		if conflict(err) {
			there, err := x.written(ctx, a.n)
			switch moved := err == nil && there.revision != a.state.revision; {
			case moved && there.Done:
				return there, true
			case moved:
				a.state.revision = there.revision
				if st.Done {
					continue
				}
				return there, true
			}
		}
		sleep(ctx, busyWait)
	}
	return st, false
}

// written is what the leader has of a line.
func (x *run) written(ctx context.Context, n int) (st state, err error) {
	revision, err := x.Store.get(ctx, x.b.lines, lineKey(x.id, n), &st)
	if errors.Is(err, ErrNotFound) {
		return state{}, nil
	}
	st.revision = revision
	return st, err
}

// noteTimeout bounds writing an id down. Without it the line is asked again, and
// for 30 s found again.
const noteTimeout = 5 * time.Second

// note writes the id of a line's request down.
func (x *run) note(ctx context.Context, a *asking) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), noteTimeout)
	defer cancel()
	x.write(ctx, a, a.state)
}
