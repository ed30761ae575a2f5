package client

import (
	"errors"
	"fmt"
	"time"

	"fairlead/wire"
)

// ErrClosed says that the client or the request's listening was closed, or its
// connection ended for good, before there was an outcome.
var ErrClosed = errors.New("closed before the request had an outcome")

// ErrListening says that this client reads the result already: want one reader at
// a time.
var ErrListening = errors.New("this client does so already; want one reader for each request")

// Error is how a request ended that has no result, or why it was not taken.
type Error struct {
	Reason     wire.Reason
	Code       int           // HTTP-like; an engine's refusal keeps the engine's own
	Detail     string        // a sentence for people
	RetryAfter time.Duration // when asking again may help; 0 says nothing
	ID         uint64        // 0 when the request was not taken
	Attempt    uint32        // 0 when the broker or the client itself ended it
	Worker     string        // the worker that failed, if one did
	Body       []byte        // the engine's own words, when it refused the request
}

// Error is the reason, the code and the detail, with the id when there is one.
func (e *Error) Error() string {
	s := fmt.Sprintf("%s (%d): %s", e.Reason, e.Code, e.Detail)
	if e.ID != 0 {
		return fmt.Sprintf("request %d: %s", e.ID, s)
	}
	return s
}

// newError makes an error with the reason's own code.
func newError(reason wire.Reason, format string, args ...any) *Error {
	return &Error{Reason: reason, Code: reason.Code(), Detail: fmt.Sprintf(format, args...)}
}
