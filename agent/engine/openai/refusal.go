package openai

import (
	"fmt"
	"io"
	"math"
	"net/http"
	"strconv"
	"time"

	"fairlead/agent/engine"
)

// statusOverloaded is used by some providers beside 429 and 503.
const statusOverloaded = 529

// Bounds of Retry-After: without one we wait the default; a wait that makes no
// sense would take the worker out of service.
const (
	defaultRetryAfter = time.Second
	minRetryAfter     = 100 * time.Millisecond
	maxRetryAfter     = 5 * time.Minute
)

// maxRefusal bounds what is read of a refusal's body, in bytes.
const maxRefusal = 64 << 10

// refusal turns an unsuccessful response into the error that fits.
func refusal(resp *http.Response, body io.Reader, now time.Time) error {
	switch resp.StatusCode {
	case http.StatusTooManyRequests, http.StatusServiceUnavailable, statusOverloaded:
		return &engine.BusyError{RetryAfter: retryAfter(resp.Header.Get("Retry-After"), now)}
	}
	text, err := io.ReadAll(io.LimitReader(body, maxRefusal))
	if err != nil {
		return fmt.Errorf("read the engine's refusal with status %d: %w", resp.StatusCode, err)
	}
	switch resp.StatusCode {
	case http.StatusBadRequest, http.StatusNotFound, http.StatusMethodNotAllowed,
		http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType, http.StatusUnprocessableEntity:
		return &engine.RequestError{Status: resp.StatusCode, ContentType: resp.Header.Get("Content-Type"), Body: text}
	}
	return fmt.Errorf("the engine answered with status %d: %.500s", resp.StatusCode, text)
}

// retryAfter reads the header in both its forms.
func retryAfter(value string, now time.Time) time.Duration {
	if value == "" {
		return defaultRetryAfter
	}
	if seconds, err := strconv.ParseFloat(value, 64); err == nil && !math.IsNaN(seconds) {
		seconds = min(max(seconds, 0), maxRetryAfter.Seconds())
		return max(time.Duration(seconds*float64(time.Second)), minRetryAfter)
	}
	if at, err := http.ParseTime(value); err == nil {
		return min(max(at.Sub(now), minRetryAfter), maxRetryAfter)
	}
	return defaultRetryAfter
}
