package gateway

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"fairlead/client"
	"fairlead/wire"
)

// ask passes a request on and its answer back.
func (c *call) ask() error {
	leave, err := c.limit()
	if err != nil {
		return err
	}
	defer leave()
	body, err := c.readBody()
	if err != nil {
		return err
	}
	req, p, err := c.request(c.route, body)
	if err != nil {
		return err
	}
	async, err := c.flag(headerAsync)
	if err != nil {
		return err
	}
	if req.Stored = async; async {
		if req.IdempotencyKey, err = c.once(); err != nil {
			return err
		}
	}
	if err := c.models.check(c.ctx(), c.client, p.Model); err != nil {
		return err
	}
	pending, err := c.submit(req)
	if err != nil {
		return err
	}
	body, req.Body = nil, nil
	_ = body // the answer may take long: nothing of the prompt is kept meanwhile
	c.releaseBody()
	if async {
		return c.accepted(pending)
	}
	return c.follow(pending, p.Stream)
}

// maxOnce is the longest idempotency key, bytes.
const maxOnce = 256

// once is the client's idempotency key, which nobody else's key may be equal to.
func (c *call) once() (string, error) {
	s := c.r.Header.Get(headerOnce)
	switch {
	case s == "":
		return "", nil
	case len(s) > maxOnce:
		return "", &fault{status: http.StatusBadRequest, code: string(wire.InvalidRequest), param: headerOnce, message: fmt.Sprintf("%s: %d bytes; want at most %d", headerOnce, len(s), maxOnce)}
	}
	return c.owner() + "." + s, nil
}

// limit counts the request against its key's limits.
func (c *call) limit() (leave func(), err error) {
	if c.key == nil {
		return func() {}, nil
	}
	return c.limits.Enter(c.key, c.started)
}

// submit asks, whatever the client does meanwhile: only a request with a receipt
// can be cancelled.
func (c *call) submit(req client.Request) (*client.Pending, error) {
	p, err := c.client.Submit(context.WithoutCancel(c.ctx()), req)
	if err != nil {
		return nil, err
	}
	c.w.Header().Set(headerPrefix+"Id", strconv.FormatUint(p.ID, 10))
	return p, nil
}

// follow brings the answer to the client. A request whose client is gone, or too
// slow, is cancelled.
func (c *call) follow(p *client.Pending, streams bool) error {
	defer p.Close()
	var err error
	if streams {
		err = c.followStream(p)
	} else {
		err = c.followPlain(p)
	}
	var told *client.Error
	if err != nil && !errors.As(err, &told) {
		c.abandon(p)
	}
	return err
}

func (c *call) followPlain(p *client.Pending) error {
	res, err := p.Result(c.ctx())
	if err != nil {
		return err
	}
	c.used(res)
	return c.writeResult(res)
}

func (c *call) writeResult(res *client.Result) error {
	return c.write(http.StatusOK, cmp.Or(res.ContentType, "application/json"), res.Body)
}

// used counts the tokens of an answer.
func (c *call) used(res *client.Result) {
	c.metrics.tokens.WithLabelValues("prompt").Add(float64(res.Usage.Prompt))
	c.metrics.tokens.WithLabelValues("cached").Add(float64(max(res.Usage.Cached, 0)))
	c.metrics.tokens.WithLabelValues("output").Add(float64(res.Usage.Output))
}

// cancelWait is how long to look for a leader that takes a cancel. Without one the
// worker notices by itself that nobody listens.
const cancelWait = 3 * time.Second

// abandon ends a request that nobody waits for any more.
func (c *call) abandon(p *client.Pending) {
	c.metrics.abandoned.Inc()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.ctx()), cancelWait)
	defer cancel()
	if _, err := p.Cancel(ctx); err != nil {
		c.cfg.Log.Debug().Err(err).Uint64("id", p.ID).Msg("not cancelled; its worker will notice that nobody listens")
	}
}
