package openai

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"time"

	"fairlead/agent/engine"
)

// Engine is one engine at a URL. Close it to let its idle connections go.
type Engine struct {
	cfg    Config
	base   *url.URL
	client *http.Client
}

var _ engine.Engine = (*Engine)(nil)

// New makes an engine; it does not connect. The error names the field at fault.
func New(cfg Config) (*Engine, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, fmt.Errorf("openai engine: %w", err)
	}
	base, err := cfg.base()
	if err != nil {
		return nil, fmt.Errorf("openai engine: %w", err)
	}
	transport := &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           (&net.Dialer{Timeout: cfg.Connect}).DialContext,
		TLSHandshakeTimeout:   cfg.Connect,
		MaxIdleConnsPerHost:   256,
		IdleConnTimeout:       time.Minute,
		DisableCompression:    true,
		ForceAttemptHTTP2:     true,
		ResponseHeaderTimeout: 0, // the stall timer sees to it
	}
	refuse := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &Engine{cfg: cfg, base: base, client: &http.Client{Transport: transport, CheckRedirect: refuse}}, nil
}

// Close lets idle connections go. Calls under way are not affected.
func (e *Engine) Close() error {
	e.client.CloseIdleConnections()
	return nil
}

// Kind is "openai".
func (e *Engine) Kind() string { return "openai" }

// Models lists the configured names, or else what the engine says it serves.
func (e *Engine) Models(ctx context.Context) ([]string, error) {
	if len(e.cfg.Models) > 0 {
		return slices.Clone(e.cfg.Models), nil
	}
	status, body, err := e.Get(ctx, "/v1/models")
	if err != nil {
		return nil, err
	}
	if status != http.StatusOK {
		return nil, fmt.Errorf("engine answered GET /v1/models with status %d", status)
	}
	var list struct {
		Data []struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	if err := json.Unmarshal(body, &list); err != nil {
		return nil, fmt.Errorf("read the engine's models: %w", err)
	}
	var names []string
	for _, m := range list.Data {
		names = append(names, m.ID)
	}
	return names, nil
}

// Healthy asks /health and, of engines that have none, /v1/models.
func (e *Engine) Healthy(ctx context.Context) error {
	status, _, err := e.Get(ctx, "/health")
	if err == nil && status == http.StatusNotFound {
		status, _, err = e.Get(ctx, "/v1/models")
	}
	if err != nil {
		return err
	}
	if status != http.StatusOK {
		return fmt.Errorf("engine answered its health check with status %d", status)
	}
	return nil
}

// Get asks one of the engine's own endpoints, such as /health. The body is bounded by
// Config.MaxBody.
func (e *Engine) Get(ctx context.Context, path string) (status int, body []byte, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, e.base.JoinPath(path).String(), http.NoBody)
	if err != nil {
		return 0, nil, fmt.Errorf("GET %s: %w", path, err)
	}
	e.authorize(req)
	resp, err := e.client.Do(req)
	if err != nil {
		return 0, nil, reachError(ctx, err)
	}
	defer resp.Body.Close()
	body, err = readBounded(resp.Body, e.cfg.MaxBody)
	return resp.StatusCode, body, err
}

func (e *Engine) authorize(req *http.Request) {
	if e.cfg.APIKey != "" {
		req.Header.Set("Authorization", "Bearer "+e.cfg.APIKey)
	}
}

// reachError tells an engine that could not be reached, on which nothing was
// started, from one that broke off, and both from our own cancelling.
func reachError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	var op *net.OpError
	if errors.As(err, &op) && op.Op == "dial" {
		return &engine.UnavailableError{Err: err}
	}
	return fmt.Errorf("call the engine: %w", err)
}

// readBounded reads everything, but no more than limit bytes.
func readBounded(r io.Reader, limit int64) ([]byte, error) {
	body, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err != nil {
		return nil, fmt.Errorf("read the engine's answer: %w", err)
	}
	if int64(len(body)) > limit {
		return nil, fmt.Errorf("the engine's answer is over the limit of %d bytes", limit)
	}
	return body, nil
}
