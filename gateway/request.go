package gateway

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"fairlead/client"
	"fairlead/gateway/prompt"
	"fairlead/wire"
)

const (
	headerPrefix = "X-Fairlead-"
	headerClass  = headerPrefix + "Class"
	headerOther  = "X-Dynamo-Meta-Policy-Class"
	headerAsync  = headerPrefix + "Async"
	headerOnce   = "Idempotency-Key"
	headerQueue  = headerPrefix + "Queue"
	headerTenant = headerPrefix + "Tenant"
)

// own are the headers that are the gateway's, with the prefix.
var own = []string{headerClass, headerAsync, headerQueue}

// open are the request headers that every client may set, with "x-" before them;
// reserved those that need a trusted key, where there are keys.
var (
	open = []string{wire.HeaderTenant, wire.HeaderTTL, wire.HeaderRetry, wire.HeaderNoQueue}

	reserved = []string{
		wire.HeaderPriority, wire.HeaderStrictPriority, wire.HeaderInputTokens, wire.HeaderCachedTokens,
		wire.HeaderPinWorker, wire.HeaderDPRank, wire.HeaderPin, wire.HeaderAllowWorkers, wire.HeaderRequireTaints, wire.HeaderPreferTaints,
	}
)

// request makes what is asked of Fairlead: the body as it is, and what headers,
// key and body say.
func (c *call) request(path string, body []byte) (client.Request, prompt.Prompt, error) {
	if _, err := c.flag(headerQueue); err != nil {
		return client.Request{}, prompt.Prompt{}, err
	}
	p, err := c.count(body)
	if err != nil {
		return client.Request{}, p, reasoned(wire.InvalidRequest, "%v", err)
	}
	req, err := c.options(path, len(body))
	if err != nil {
		return req, p, err
	}
	if p.Stream && req.Retry == wire.RetryAlways {
		return req, p, badHeader(wire.HeaderRetry, "always; a stream cannot be begun again, want auto or never")
	}
	req.Body, req.Model = body, p.Model
	req.MaxOutputTokens = p.MaxOutput
	req.InputTokens = cmp.Or(req.InputTokens, p.Input)
	return req, p, nil
}

// count reads the body, on as many cores as there are and no more.
func (c *call) count(body []byte) (prompt.Prompt, error) {
	if err := c.counting.Acquire(c.ctx(), 1); err != nil {
		return prompt.Prompt{}, errGone
	}
	defer c.counting.Release(1)
	defer c.metrics.timed(c.metrics.counting)()
	return prompt.Read(body)
}

// options is what headers and key say of a request.
func (c *call) options(path string, size int) (client.Request, error) {
	class, err := c.class()
	if err != nil {
		return client.Request{}, err
	}
	h, err := c.headers()
	if err != nil {
		return client.Request{}, err
	}
	h[wire.HeaderPath] = []string{path}
	rules := wire.Rules{Names: c.names}
	q, refusal := rules.ParseRequest(wire.Message{Subject: c.names.Req(class), Header: h, Size: max(size, 1)})
	if refusal != nil {
		return client.Request{}, refused(refusal)
	}
	req := client.Request{
		Class: class, Path: path, Tenant: q.Tenant, Priority: q.Priority, StrictPriority: q.Strict, CachedTokens: q.Cached,
		Worker: q.Worker, Pin: q.Pin, AllowWorkers: q.Allow, RequireTaints: q.Require, PreferTaints: q.Prefer,
		TTL: cmp.Or(q.TTL, c.cfg.TTL), Retry: q.Retry, NoQueue: q.NoQueue, Traceparent: q.Traceparent,
	}
	if _, said := h[wire.HeaderInputTokens]; said {
		req.InputTokens = q.Input
	}
	if q.Rank != wire.AnyRank {
		rank := uint16(q.Rank)
		req.Rank = &rank
	}
	return req, c.tenant(&req)
}

// class is that of the headers, of the key, or the default.
func (c *call) class() (string, error) {
	class, other := c.r.Header.Get(headerClass), c.r.Header.Get(headerOther)
	if class != "" && other != "" && class != other {
		return "", &fault{status: http.StatusBadRequest, code: string(wire.InvalidRequest), param: headerClass,
			message: fmt.Sprintf("%s is %q and %s is %q; want one of them", headerClass, class, headerOther, other)}
	}
	class = cmp.Or(class, other)
	switch {
	case class == "" && c.key != nil && c.key.Default() != "":
		return c.key.Default(), nil
	case class == "":
		return c.cfg.Class, nil
	case !wire.ValidToken(class):
		return "", badHeader("Fairlead-Class", "want 1 to 64 characters of A-Z a-z 0-9 _ -")
	case c.key != nil && !c.key.May(class):
		return "", forbidden("the key %q may not ask for the class %q", c.key.Name, class)
	}
	return class, nil
}

// tenant puts the key's tenant in, which no header may replace.
func (c *call) tenant(req *client.Request) error {
	if c.key == nil || c.key.Tenant == "" {
		return nil
	}
	if req.Tenant != "" && req.Tenant != c.key.Tenant {
		return forbidden("%s is %q, but the key %q is of tenant %q", headerTenant, req.Tenant, c.key.Name, c.key.Tenant)
	}
	req.Tenant = c.key.Tenant
	return nil
}

// headers are the client's as Fairlead's. One that nobody knows is refused, so
// that a misspelt one is noticed.
func (c *call) headers() (wire.Header, error) {
	h := wire.Header{}
	if t := c.r.Header.Get("Traceparent"); t != "" && len(t) <= 128 {
		h[wire.HeaderTraceparent] = []string{t}
	}
	for key, values := range c.r.Header {
		if !strings.HasPrefix(key, headerPrefix) || slices.Contains(own, key) {
			continue
		}
		is := func(header string) bool { return strings.EqualFold(key[len("X-"):], header) }
		i, j := slices.IndexFunc(open, is), slices.IndexFunc(reserved, is)
		switch {
		case i >= 0:
			h[open[i]] = values
		case j >= 0 && (c.key == nil || c.key.Trusted):
			h[reserved[j]] = values
		case j >= 0:
			return nil, forbidden("the key %q may not set %s", c.key.Name, key)
		default:
			return nil, badHeader(key[len("X-"):], "unknown; see docs/gateway.md for the headers")
		}
	}
	return h, nil
}

// flag reads a header that is true or false.
func (c *call) flag(header string) (bool, error) {
	s := c.r.Header.Get(header)
	if s == "" {
		return false, nil
	}
	v, err := strconv.ParseBool(s)
	if err != nil {
		return false, badHeader(header[len("X-"):], "want true or false")
	}
	return v, nil
}

// refused tells a refusal with the name that the client's header has.
func refused(r *wire.Refusal) *fault {
	name, rest, ok := strings.Cut(r.Detail, ": ")
	if !ok || !strings.HasPrefix(name, "Fairlead-") {
		return &fault{status: r.Reason.Code(), code: string(r.Reason), message: r.Detail}
	}
	return badHeader(name, rest)
}

// badHeader refuses a header, given without its "x-".
func badHeader(name, want string) *fault {
	name = "x-" + strings.ToLower(name)
	return &fault{status: http.StatusBadRequest, code: string(wire.InvalidRequest), param: name, message: name + ": " + want}
}

func forbidden(format string, args ...any) *fault {
	return &fault{status: http.StatusForbidden, code: codeForbidden, message: fmt.Sprintf(format, args...)}
}
