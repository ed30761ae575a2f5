package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"fairlead/client"
	"fairlead/wire"
)

// stream is an open stream of server-sent events.
type stream struct {
	c     *call
	buf   bytes.Buffer // one event
	last  time.Time    // of the last write
	sent  int          // chunks
	named bool         // events carry their type as a name, as those of responses do
}

// errTick ends a wait for the next chunk, to write a comment.
var errTick = errors.New("nothing came for a while")

// followStream sends chunks as they come. When nothing comes for a while it opens
// the stream with a comment, and repeats that, so that no proxy takes it for dead.
func (c *call) followStream(p *client.Pending) error {
	wait := c.cfg.HeadersAfter
	for {
		ctx, cancel := context.WithTimeoutCause(c.ctx(), wait, errTick)
		err := c.pass(ctx, p)
		again := c.ticked(ctx, err)
		cancel()
		switch {
		case err == nil:
			return c.endStream(p)
		case !again:
			return err
		}
		if err := c.comment(p); err != nil {
			return err
		}
		wait = c.cfg.KeepAlive
	}
}

// ticked reports whether err is only the end of a wait, in whatever words: the
// request has no outcome, and its client is there.
func (c *call) ticked(ctx context.Context, err error) bool {
	var e *client.Error
	return err != nil && errors.Is(context.Cause(ctx), errTick) && c.ctx().Err() == nil && !errors.As(err, &e) && !errors.Is(err, errGone)
}

// pass sends what comes until ctx ends or the answer does.
func (c *call) pass(ctx context.Context, p *client.Pending) error {
	for chunk, err := range p.Chunks(ctx) {
		if err != nil {
			return err
		}
		if c.stream == nil {
			c.open()
		}
		if c.stream.sent == 0 {
			c.metrics.firstChunk.WithLabelValues(c.route).Observe(time.Since(c.started).Seconds())
		}
		if err := c.stream.chunk(chunk.Data); err != nil {
			return err
		}
	}
	return nil
}

// open sends the headers of a stream.
func (c *call) open() {
	h := c.w.Header()
	h.Set("Content-Type", "text/event-stream; charset=utf-8")
	h.Set("Cache-Control", "no-cache")
	h.Set("X-Accel-Buffering", "no") // of nginx
	c.status = http.StatusOK
	c.w.WriteHeader(http.StatusOK)
	c.stream = &stream{c: c, named: c.route == wire.PathResponses}
	c.metrics.streams.Inc()
}

// comment keeps the stream alive, unless something was sent just now.
func (c *call) comment(p *client.Pending) error {
	if c.stream != nil && time.Since(c.stream.last) < c.cfg.KeepAlive/2 {
		return nil
	}
	text := "waiting"
	if c.stream == nil || c.stream.sent == 0 {
		text = c.queueWords(p)
	}
	if c.stream == nil {
		c.open()
	}
	c.stream.buf.WriteString(": " + text + "\n\n")
	return c.stream.flush()
}

// endStream closes a stream whose answer is whole. An engine may have answered in
// one piece.
func (c *call) endStream(p *client.Pending) error {
	res, err := p.Result(c.ctx()) // it is there
	if err != nil {
		return err
	}
	c.used(res)
	if c.stream == nil && len(res.Body) > 0 {
		return c.writeResult(res)
	}
	if c.stream == nil {
		c.open()
	}
	if len(res.Body) > 0 {
		if err := c.stream.chunk(bytes.TrimSpace(res.Body)); err != nil {
			return err
		}
	}
	return c.stream.end()
}

// chunk sends one payload.
func (s *stream) chunk(data []byte) error {
	if s.named {
		s.name(data)
	}
	s.data(data)
	s.sent++
	return s.flush()
}

// name writes the event's name, which is the payload's type.
func (s *stream) name(data []byte) {
	var t struct {
		Type string `json:"type"`
	}
	if json.Unmarshal(data, &t) == nil && t.Type != "" {
		s.buf.WriteString("event: " + oneLine(t.Type) + "\n")
	}
}

func oneLine(s string) string {
	return string(bytes.Map(func(r rune) rune {
		if r < ' ' {
			return -1
		}
		return r
	}, []byte(s)))
}

// data writes a payload, line by line.
func (s *stream) data(data []byte) {
	for line := range bytes.Lines(data) {
		s.buf.WriteString("data: ")
		s.buf.Write(bytes.TrimRight(line, "\r\n"))
		s.buf.WriteByte('\n')
	}
	s.buf.WriteByte('\n')
}

// flush sends what was written.
func (s *stream) flush() error {
	s.c.deadline()
	n, err := s.c.w.Write(s.buf.Bytes())
	s.buf.Reset()
	if err == nil {
		err = s.c.rc.Flush()
	}
	if err != nil {
		return errGone
	}
	s.last = time.Now()
	s.c.metrics.bytes.WithLabelValues("out").Add(float64(n))
	return nil
}

// end says that the answer is whole. Responses have an event of their own for that.
func (s *stream) end() error {
	if s.named {
		return nil
	}
	s.data([]byte("[DONE]"))
	return s.flush()
}

// fail ends the stream with an error, and without the mark of a whole answer.
func (s *stream) fail(f *fault) {
	if !s.named {
		s.data(f.body())
		_ = s.flush() // there is nobody else to tell
		return
	}
	sh := f.shape()
	s.buf.WriteString("event: error\n")
	s.data(encode(map[string]any{"type": "error", "code": sh.Code, "message": sh.Message, "param": sh.Param, "sequence_number": s.sent, "error": sh}))
	_ = s.flush() // the same
}
