package gateway

import (
	"context"
	"crypto/hmac"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"fairlead/client"
	"fairlead/wire"
)

const asyncPath = "/v1/fairlead/requests"

const (
	maxWait    = 10 * time.Minute // that a client may wait for a result
	resultWait = 20 * time.Second // for the result of a request that has ended
)

// asyncShape is a request that was asked to be picked up later.
type asyncShape struct {
	ID       string         `json:"id"`
	Object   string         `json:"object"`
	Status   string         `json:"status"` // queued, running, completed, failed or cancelled
	WaitMS   int64          `json:"wait_ms,omitempty"`
	Response *asyncResponse `json:"response,omitempty"`
	Error    *shape         `json:"error,omitempty"`
}

// asyncResponse is how it was answered.
type asyncResponse struct {
	StatusCode int               `json:"status_code"`
	Body       json.RawMessage   `json:"body,omitempty"`   // of an answer in one piece
	Chunks     []json.RawMessage `json:"chunks,omitempty"` // of a streamed one
}

func (c *call) asyncShape(id uint64, status string) asyncShape {
	return asyncShape{ID: c.asyncID(id), Object: "fairlead.request", Status: status}
}

// asyncID is the name of a request towards its client. Ids can be guessed, so
// where there are keys only the one that asked gets a name that is taken.
func (c *call) asyncID(id uint64) string {
	s := strconv.FormatUint(id, 10)
	if c.key == nil {
		return s
	}
	return s + "-" + hex.EncodeToString(c.key.Sign("request " + s)[:16])
}

// accepted answers a request that is to be picked up later.
func (c *call) accepted(p *client.Pending) error {
	p.Close() // it goes on
	a := c.asyncShape(p.ID, "queued")
	c.w.Header().Set("Location", asyncPath+"/"+a.ID)
	return c.json(http.StatusAccepted, a)
}

// asked is the id in the path.
func (c *call) asked() (uint64, error) {
	name := c.r.PathValue("id")
	number, _, _ := strings.Cut(name, "-")
	id, err := strconv.ParseUint(number, 10, 64)
	if err != nil || id == 0 || !hmac.Equal([]byte(c.asyncID(id)), []byte(name)) {
		return 0, noRequest(name)
	}
	return id, nil
}

func noRequest(name string) *fault {
	return &fault{status: http.StatusNotFound, code: codeNotFound, message: "there is no request " + strconv.Quote(name) + ", or its result has expired"}
}

// getAsync polls, waits for, or streams the result of a request.
func (c *call) getAsync() error {
	id, err := c.asked()
	if err != nil {
		return err
	}
	wait, err := c.waitParam()
	if err != nil {
		return err
	}
	streams := c.r.URL.Query().Get("stream") == "true" || strings.Contains(c.r.Header.Get("Accept"), "text/event-stream")
	if streams || wait > 0 { // it stays, as a request does
		leave, err := c.limit()
		if err != nil {
			return err
		}
		defer leave()
	}
	if streams {
		return c.streamAsync(id)
	}
	s, err := c.state(id)
	if err != nil {
		return err
	}
	if s.State != wire.StateEnded {
		if wait == 0 {
			return c.json(http.StatusOK, c.underWay(id, s))
		}
	} else {
		wait = resultWait
	}
	return c.await(id, wait)
}

func (c *call) waitParam() (time.Duration, error) {
	s := c.r.URL.Query().Get("wait")
	if s == "" {
		return 0, nil
	}
	d, err := time.ParseDuration(s)
	if n, nerr := strconv.ParseUint(s, 10, 16); err != nil && nerr == nil {
		d, err = time.Duration(n)*time.Second, nil
	}
	if err != nil || d < 0 || d > maxWait {
		return 0, &fault{status: http.StatusBadRequest, code: string(wire.InvalidRequest), param: "wait", message: "wait: want a duration or whole seconds, at most " + maxWait.String()}
	}
	return d, nil
}

// state is where the leader says that a request is.
func (c *call) state(id uint64) (wire.RequestStatus, error) {
	s, err := c.client.Status(c.ctx(), id)
	if err != nil {
		return wire.RequestStatus{}, err
	}
	if len(s.Requests) != 1 || !s.Recovered && s.Requests[0].State == wire.StateEnded {
		return wire.RequestStatus{State: wire.StateQueued}, nil // it may be among what a new leader has not read yet
	}
	return s.Requests[0], nil
}

func (c *call) underWay(id uint64, s wire.RequestStatus) asyncShape {
	status := "queued"
	if s.State != wire.StateQueued {
		status = "running"
	}
	a := c.asyncShape(id, status)
	a.WaitMS = s.WaitMS
	return a
}

// await reads the result, or says that there is none yet.
func (c *call) await(id uint64, wait time.Duration) error {
	ctx, cancel := context.WithTimeoutCause(c.ctx(), wait, errTick)
	defer cancel()
	p, err := c.client.Await(ctx, id)
	if err == nil {
		defer p.Close()
		var res *client.Result
		if res, err = p.Result(ctx); err == nil {
			return c.json(http.StatusOK, c.completed(id, res))
		}
	}
	var e *client.Error
	switch {
	case errors.Is(err, client.ErrListening):
		return &fault{status: http.StatusConflict, code: codeConflict, message: "somebody waits for this result already; want one reader at a time", retry: time.Second}
	case c.ticked(ctx, err):
		s, err := c.state(id)
		if err != nil {
			return err
		}
		return c.json(http.StatusOK, c.underWay(id, s))
	case errors.As(err, &e) && e.Reason == wire.ResultLost:
		return noRequest(c.r.PathValue("id"))
	case errors.As(err, &e):
		return c.json(http.StatusOK, c.failed(id, e))
	}
	return err
}

func (c *call) completed(id uint64, res *client.Result) asyncShape {
	a := c.asyncShape(id, "completed")
	a.Response = &asyncResponse{StatusCode: http.StatusOK, Body: rawJSON(res.Body)}
	for _, chunk := range res.Chunks {
		a.Response.Chunks = append(a.Response.Chunks, rawJSON(chunk))
	}
	return a
}

// rawJSON is what an engine said, as JSON: anything else becomes a string.
func rawJSON(data []byte) json.RawMessage {
	switch {
	case len(data) == 0:
		return nil
	case json.Valid(data):
		return data
	}
	return encode(string(data))
}

func (c *call) failed(id uint64, e *client.Error) asyncShape {
	a := c.asyncShape(id, "failed")
	if e.Reason == wire.Cancelled {
		a.Status = "cancelled"
	}
	f := faultOf(e)
	s := f.shape()
	a.Error, a.Response = &s, &asyncResponse{StatusCode: f.status, Body: f.body()}
	return a
}

// streamAsync streams a result from its beginning, as it is stored and as it
// comes. Hanging up does not cancel the request.
func (c *call) streamAsync(id uint64) error {
	p, err := c.client.Await(c.ctx(), id)
	if errors.Is(err, client.ErrListening) {
		return &fault{status: http.StatusConflict, code: codeConflict, message: "somebody waits for this result already; want one reader at a time", retry: time.Second}
	}
	if err != nil {
		return err
	}
	defer p.Close()
	return c.followStream(p)
}

// cancelAsync ends a request.
func (c *call) cancelAsync() error {
	id, err := c.asked()
	if err != nil {
		return err
	}
	outcome, err := c.client.Cancel(c.ctx(), id)
	switch {
	case err != nil:
		return err
	case outcome == wire.CancelFound:
		return c.json(http.StatusOK, c.asyncShape(id, "cancelled"))
	case outcome == wire.CancelDone:
		return c.await(id, resultWait)
	}
	return noRequest(c.r.PathValue("id"))
}
