package engine

import (
	"fmt"
	"time"
)

// BusyError says that the engine is full, not broken: try again later.
type BusyError struct {
	// RetryAfter is how long the engine wants to be left alone; positive.
	RetryAfter time.Duration
}

func (e *BusyError) Error() string {
	return fmt.Sprintf("engine is busy, retry after %s", e.RetryAfter)
}

// RequestError is the engine's verdict about the request itself. It would say
// the same again, so the client gets status and body as they are.
type RequestError struct {
	// Status is an HTTP status from 400 to 499.
	Status      int
	ContentType string
	Body        []byte
}

func (e *RequestError) Error() string {
	return fmt.Sprintf("engine refused the request with status %d: %.200s", e.Status, e.Body)
}

// UnavailableError says that the engine could not be reached, so that nothing
// of the request was started.
type UnavailableError struct{ Err error }

func (e *UnavailableError) Error() string { return "engine is unavailable: " + e.Err.Error() }

// Unwrap returns the cause.
func (e *UnavailableError) Unwrap() error { return e.Err }
