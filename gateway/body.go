package gateway

import (
	"errors"
	"io"
	"net/http"
	"os"
	"time"

	"fairlead/wire"
)

// firstRead is how much of a body is made room for at first, bytes.
const firstRead = 16 << 10

// readBody reads the body, in memory that is reserved as it comes. What is over
// the limit is refused before it is read, where its length is told.
func (c *call) readBody() ([]byte, error) {
	limit := c.cfg.MaxBody
	switch {
	case c.r.ContentLength > limit:
		return nil, c.tooLarge()
	case c.r.Header.Get("Content-Encoding") != "" && c.r.Header.Get("Content-Encoding") != "identity":
		return nil, &fault{status: http.StatusUnsupportedMediaType, code: codeUnsupported, param: "Content-Encoding", message: "compressed bodies are not taken; send it as it is"}
	}
	_ = c.rc.SetReadDeadline(time.Now().Add(c.cfg.BodyTimeout)) // fails only where there are no deadlines
	body, err := c.readAll(limit)
	if err != nil {
		return nil, err
	}
	_ = c.rc.SetReadDeadline(time.Time{}) // from here on the server listens for the client's leaving
	c.metrics.bytes.WithLabelValues("in").Add(float64(len(body)))
	return body, nil
}

func (c *call) readAll(limit int64) ([]byte, error) {
	var body []byte
	for {
		if len(body) == cap(body) {
			larger, err := c.larger(body, limit)
			if err != nil {
				return nil, err
			}
			body = larger
		}
		n, err := c.r.Body.Read(body[len(body):cap(body)])
		body = body[:len(body)+n]
		switch {
		case int64(len(body)) > limit:
			return nil, c.tooLarge()
		case errors.Is(err, io.EOF):
			return body, nil
		case errors.Is(err, os.ErrDeadlineExceeded):
			c.w.Header().Set("Connection", "close")
			return nil, &fault{status: http.StatusRequestTimeout, code: codeBodyTimeout, message: "the body did not arrive within " + c.cfg.BodyTimeout.String()}
		case err != nil:
			return nil, errGone
		}
	}
}

// larger is the same body with more room, one byte over the limit at most.
func (c *call) larger(body []byte, limit int64) ([]byte, error) {
	size := max(2*int64(cap(body)), firstRead)
	if told := c.r.ContentLength; told >= 0 {
		size = min(size, told+1)
	}
	size = min(max(size, int64(cap(body))+1), limit+1)
	more := size - int64(cap(body))
	if !c.memory.TryAcquire(more) {
		c.w.Header().Set("Connection", "close")
		return nil, &fault{status: http.StatusServiceUnavailable, code: codeOverloaded, message: "the bodies of other requests fill the memory for them", retry: unavailableRetry}
	}
	c.reserve += more
	c.metrics.bodyBytes.Add(float64(more))
	return append(make([]byte, 0, size), body...), nil
}

// releaseBody gives the memory back; the body must not be used any more.
func (c *call) releaseBody() {
	c.memory.Release(c.reserve)
	c.metrics.bodyBytes.Sub(float64(c.reserve))
	c.reserve = 0
}

// tooLarge refuses a body, and the connection with what is left of it.
func (c *call) tooLarge() error {
	c.w.Header().Set("Connection", "close")
	return reasoned(wire.TooLarge, "the body is over the limit of %d bytes", c.cfg.MaxBody)
}
