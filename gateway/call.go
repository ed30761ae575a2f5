package gateway

import (
	"context"
	"errors"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nuid"

	"fairlead/gateway/keys"
	"fairlead/wire"
)

// call is one HTTP request.
type call struct {
	*Gateway
	w       http.ResponseWriter
	r       *http.Request
	rc      *http.ResponseController
	route   string // for metrics: a closed list
	id      string // x-request-id
	key     *keys.Key
	started time.Time

	status  int     // sent; 0 not yet
	stream  *stream // open; nil none
	reserve int64   // of the memory for bodies
}

// errGone says that the client cannot be told anything any more.
var errGone = errors.New("the client has gone")

// handle makes a handler of a method that answers, or returns what is to be told.
func (g *Gateway) handle(route string, method func(*call) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := &call{Gateway: g, w: w, r: r, rc: http.NewResponseController(w), route: route, started: time.Now(), id: requestID(r)}
		w.Header().Set("X-Request-Id", c.id)
		err := c.enter(method)
		if err != nil {
			c.fail(err)
		}
		c.finished(err)
	})
}

// requestID is the client's own, when it is printable and short, or a new one.
func requestID(r *http.Request) string {
	id := r.Header.Get("X-Request-Id")
	ok := func(c rune) bool { return c > ' ' && c < 0x7f }
	if id == "" || len(id) > 128 || strings.ContainsFunc(id, func(c rune) bool { return !ok(c) }) {
		return "req_" + nuid.Next()
	}
	return id
}

// enter checks who asks and whether there is room, and then answers.
func (c *call) enter(method func(*call) error) error {
	if c.draining.Load() {
		c.w.Header().Set("Connection", "close")
		return faultOf(errLeaving)
	}
	if !c.inFlight.TryAcquire(1) {
		return &fault{status: http.StatusServiceUnavailable, code: codeOverloaded, message: "too many requests are under way here", retry: unavailableRetry}
	}
	defer c.inFlight.Release(1)
	c.metrics.inFlight.WithLabelValues(c.route).Inc()
	defer c.metrics.inFlight.WithLabelValues(c.route).Dec()
	if err := c.identify(); err != nil {
		return err
	}
	defer c.releaseBody()
	return method(c)
}

// identify finds whose key it is, when keys are wanted.
func (c *call) identify() error {
	set := c.keys.Load()
	if set == nil {
		return nil
	}
	scheme, secret, _ := strings.Cut(c.r.Header.Get("Authorization"), " ")
	if strings.EqualFold(scheme, "Bearer") {
		c.key = set.Find(strings.TrimSpace(secret))
	}
	if c.key == nil {
		return &fault{status: http.StatusUnauthorized, code: codeInvalidKey, message: "the API key is missing or unknown; want Authorization: Bearer and a key of this gateway"}
	}
	return nil
}

// ctx ends when the client hangs up, or the gateway must leave.
func (c *call) ctx() context.Context { return c.r.Context() }

// deadline gives the next write so much time.
func (c *call) deadline() {
	_ = c.rc.SetWriteDeadline(time.Now().Add(c.cfg.WriteTimeout)) // fails only where there are no deadlines
}

// write sends a whole answer.
func (c *call) write(status int, contentType string, body []byte) error {
	h := c.w.Header()
	h.Set("Content-Type", contentType)
	h.Set("Content-Length", strconv.Itoa(len(body)))
	c.status = status
	c.deadline()
	c.w.WriteHeader(status)
	if _, err := c.w.Write(body); err != nil {
		return errGone
	}
	c.metrics.bytes.WithLabelValues("out").Add(float64(len(body)))
	return nil
}

// json sends a value.
func (c *call) json(status int, v any) error {
	return c.write(status, "application/json", encode(v))
}

// fail tells the client of an error, as far as it can be told.
func (c *call) fail(err error) {
	if err = c.toTell(err); errors.Is(err, errGone) {
		if c.status == 0 {
			c.status = wire.Cancelled.Code()
		}
		return
	}
	f := faultOf(err)
	c.metrics.errors.WithLabelValues(f.code).Inc()
	if f.code == codeUnavailable {
		c.cfg.Log.Warn().Err(err).Str("request", c.id).Msg("cannot ask")
	}
	if c.stream != nil {
		c.stream.fail(f)
		return
	}
	h := c.w.Header()
	h.Set("X-Fairlead-Reason", f.code)
	if f.retry > 0 {
		h.Set("Retry-After", strconv.Itoa(int(math.Ceil(f.retry.Seconds()))))
	}
	_ = c.write(f.status, "application/json", f.body()) // there is nobody else to tell
}

// toTell is err, unless the end of the call's context is behind it. A body that
// comes too slowly ends the context as well: faults of our own stay.
func (c *call) toTell(err error) error {
	var own *fault
	switch cause := context.Cause(c.ctx()); {
	case cause == nil, errors.As(err, &own):
		return err
	case errors.Is(cause, errLeaving):
		return errLeaving
	}
	return errGone
}

// finished counts and logs the request.
func (c *call) finished(err error) {
	took := time.Since(c.started)
	if c.stream != nil {
		c.metrics.streams.Dec()
	}
	c.metrics.requests.WithLabelValues(c.route, strconv.Itoa(c.status)).Inc()
	c.metrics.seconds.WithLabelValues(c.route).Observe(took.Seconds())
	e := c.cfg.Log.Debug()
	if !e.Enabled() {
		return
	}
	if c.key != nil {
		e = e.Str("key", c.key.Name)
	}
	e.Err(err).Str("request", c.id).Str("method", c.r.Method).Str("path", c.r.URL.Path).Int("status", c.status).Dur("took", took).Msg("answered")
}
