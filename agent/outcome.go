package agent

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/nats-io/nats.go"

	"fairlead/agent/engine"
	"fairlead/wire"
)

// unavailableRetry is how long a worker is held whose engine does not answer; the
// health check takes over from there.
const unavailableRetry = time.Second

// outcome is how an execution ended, and what has to be said about it.
type outcome struct {
	status      wire.Status
	reason      wire.Reason
	code        int // HTTP status of an error; 0 is the reason's own
	detail      string
	retryAfter  time.Duration
	sick        bool // the engine could not be reached
	usage       wire.Usage
	body        []byte // of the final message
	contentType string
	to          sink // gets the final message; nil when the client is told nothing
}

// failure ends a request with an error that its client is told.
func failure(to sink, f wire.Failure) outcome {
	return outcome{status: wire.StatusError, reason: f.Reason, code: f.Code, detail: f.Detail, to: to}
}

// broken is the end of an execution before its client is known: the agent
// leaves, or the broker wants it no more.
func (j *job) broken(err error) outcome { return j.ending(nil, err) }

// ending says what an error means for the request.
func (j *job) ending(to sink, err error) outcome {
	var busy *engine.BusyError
	var refused *engine.RequestError
	var gone *engine.UnavailableError
	switch {
	case errors.Is(err, errCancelled):
		return outcome{status: wire.StatusCancelled, reason: wire.Cancelled}
	case errors.Is(err, errAborted), errors.Is(err, ErrSuperseded), errors.Is(err, nats.ErrConnectionClosed):
		return outcome{status: wire.StatusReturned, detail: err.Error()}
	case errors.Is(err, errDeadline):
		return failure(to, wire.Failure{Reason: wire.DeadlineExceeded, Detail: errDeadline.Error()})
	case errors.Is(err, errUnheard):
		return failure(to, wire.Failure{Reason: wire.Cancelled, Detail: fmt.Sprintf("%s, for %s", errUnheard, j.l.cfg.ListenGrace)})
	case errors.Is(err, nats.ErrMaxPayload):
		return j.tooLarge(to, "a chunk of the answer")
	case errors.As(err, &busy):
		return outcome{status: wire.StatusReturned, detail: err.Error(), retryAfter: busy.RetryAfter}
	case errors.As(err, &gone):
		return outcome{status: wire.StatusReturned, detail: err.Error(), retryAfter: unavailableRetry, sick: true}
	case errors.As(err, &refused):
		return refusal(to, refused)
	default:
		return failure(to, wire.Failure{Reason: wire.EngineError, Detail: err.Error()})
	}
}

// refusal passes the engine's verdict about the request on, as it is.
func refusal(to sink, r *engine.RequestError) outcome {
	reason := wire.InvalidRequest
	if r.Status == http.StatusRequestEntityTooLarge {
		reason = wire.TooLarge
	}
	o := failure(to, wire.Failure{Reason: reason, Code: r.Status, Detail: fmt.Sprintf("the engine refused the request with status %d", r.Status)})
	o.body, o.contentType = r.Body, r.ContentType
	return o
}

func (j *job) tooLarge(to sink, what string) outcome {
	return failure(to, wire.Failure{Reason: wire.TooLarge,
		Detail: fmt.Sprintf("%s is over the server's limit of %d bytes a message; raise max_payload, or stream", what, j.l.st.NC.MaxPayload())})
}

// done is the report that goes into DONE.
func (j *job) done(o outcome) *wire.Done {
	d := &wire.Done{
		ID: j.claim.ID, Attempt: j.claim.Attempt, Lost: j.claim.Lost, Claim: j.seq, Class: j.claim.Class,
		Worker: j.l.cfg.Worker, Incarnation: j.l.incarnation,
		Status: o.status, Reason: o.reason, Error: o.detail, RetryAfterMS: o.retryAfter.Milliseconds(), Usage: o.usage,
		TotalMS: time.Since(j.taken).Milliseconds(),
	}
	if !j.first.IsZero() {
		d.FirstMS = max(j.first.Sub(j.taken).Milliseconds(), 1) // 0 would mean that there was none
	}
	return d
}
