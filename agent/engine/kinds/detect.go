package kinds

import (
	"context"
	"encoding/json"
	"net/http"

	"fairlead/agent/engine"
)

// known is the kind of the engine, found out when it has to be.
func (e *Engine) known(ctx context.Context) (*kind, error) {
	if k := e.kind.Load(); k != nil {
		return k, nil
	}
	if !e.auto {
		return nil, engine.ErrNoLoad
	}
	k, err := e.detect(ctx)
	if err != nil {
		return nil, err
	}
	if k == nil {
		return nil, engine.ErrNoLoad
	}
	e.kind.Store(k)
	return k, nil
}

// detect finds out what kind of engine answers; nil when it is none of ours. The
// error is that of an engine which does not answer.
func (e *Engine) detect(ctx context.Context) (*kind, error) {
	status, body, err := e.Get(ctx, "/v1/models")
	if err != nil {
		return nil, err
	}
	if status == http.StatusOK {
		if k := byOwner(body); k != nil {
			return k, nil
		}
	}
	if k, err := e.byNames(ctx); k != nil || err != nil {
		return k, err
	}
	return e.bySignature(ctx)
}

func byOwner(body []byte) *kind {
	var list struct {
		Data []struct {
			Owner string `json:"owned_by"`
		} `json:"data"`
	}
	if json.Unmarshal(body, &list) != nil {
		return nil
	}
	for _, m := range list.Data {
		for _, k := range all() {
			if k.owner != "" && k.owner == m.Owner {
				return k
			}
		}
	}
	return nil
}

// byNames looks at the names of the metrics.
func (e *Engine) byNames(ctx context.Context) (*kind, error) {
	for _, path := range []string{"/metrics", "/prometheus/metrics"} {
		status, body, err := e.probe.Get(ctx, path)
		if err != nil {
			return nil, err
		}
		x, err := parse(body)
		if status != http.StatusOK || err != nil {
			continue // not an exposition
		}
		for _, k := range all() {
			if k.path == path && x.has(k.prefix) {
				return k, nil
			}
		}
	}
	return nil, nil
}

func (e *Engine) bySignature(ctx context.Context) (*kind, error) {
	for _, k := range all() {
		if k.signature == "" {
			continue
		}
		status, body, err := e.probe.Get(ctx, k.signature)
		if err != nil {
			return nil, err
		}
		if status == http.StatusOK && json.Valid(body) && k.signs(body) {
			return k, nil
		}
	}
	return nil, nil
}
