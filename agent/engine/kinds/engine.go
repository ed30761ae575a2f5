package kinds

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"fairlead/agent/engine"
	"fairlead/agent/engine/openai"
)

// Config is an engine at a URL. The embedded configuration is that of the requests.
type Config struct {
	openai.Config
	// Kind is one of [Names]. Default [Auto].
	Kind string
	// MetricsURL is where the engine tells its load, when that is not its URL.
	MetricsURL string
}

// Engine is an OpenAI-compatible engine that may tell its load. Close it to let its
// idle connections go.
type Engine struct {
	*openai.Engine
	probe    *openai.Engine // where metrics and facts are asked
	auto     bool
	kind     atomic.Pointer[kind]   // nil: plain, or not found out yet
	versions atomic.Pointer[string] // asked once
}

var _ interface {
	engine.Engine
	engine.Loader
} = (*Engine)(nil)

// New makes an engine; it does not connect. The error names the field at fault.
func New(cfg Config) (*Engine, error) {
	name := cfg.Kind
	if name == "" {
		name = Auto
	}
	k := byName(name)
	if k == nil && name != Auto && name != Plain {
		return nil, fmt.Errorf("kind %q: want one of %s", name, strings.Join(Names(), ", "))
	}
	core, err := openai.New(cfg.Config)
	if err != nil {
		return nil, err
	}
	e := &Engine{Engine: core, probe: core, auto: name == Auto}
	e.kind.Store(k)
	if cfg.MetricsURL != "" {
		cfg.URL = cfg.MetricsURL
		if e.probe, err = openai.New(cfg.Config); err != nil {
			return nil, fmt.Errorf("metrics %w", err)
		}
	}
	return e, nil
}

// Close lets idle connections go. Calls under way are not affected.
func (e *Engine) Close() error {
	return errors.Join(e.Engine.Close(), e.probe.Close())
}

// Kind names the kind, as far as it is known.
func (e *Engine) Kind() string {
	if k := e.kind.Load(); k != nil {
		return k.name
	}
	return Plain
}

// Load asks the engine how busy it is. [engine.ErrNoLoad] says that it never tells.
func (e *Engine) Load(ctx context.Context) (engine.Load, error) {
	k, err := e.known(ctx)
	if err != nil {
		return engine.Load{}, err
	}
	load := engine.Load{At: time.Now()}
	x, err := e.scrape(ctx, k)
	if err == nil {
		k.fill(&load, x)
		err = e.facts(ctx, k, x, &load)
	}
	if err == nil && !k.shy && k.path != "" && load.Running == nil && load.Waiting == nil && load.KV == nil {
		err = fmt.Errorf("the engine's %s has no %s, nor anything else that tells its load", k.path, k.running[0].name)
	}
	if err != nil && e.auto {
		e.kind.CompareAndSwap(k, nil)
		e.versions.Store(nil)
	}
	return load, err
}

func (k *kind) fill(load *engine.Load, x exposition) {
	load.Running, load.Waiting, load.KV = x.count(k.running), x.count(k.waiting), x.fraction(k.kv)
	load.BlockTokens, load.Blocks = x.largest(k.blockTokens), x.whole(k.blocks)
}

func (e *Engine) facts(ctx context.Context, k *kind, x exposition, load *engine.Load) error {
	if k.facts == nil {
		return nil
	}
	return k.facts(ctx, e, x, load)
}

// scrape reads the exposition; of a kind that may have none, it may be empty.
func (e *Engine) scrape(ctx context.Context, k *kind) (exposition, error) {
	if k.path == "" {
		return exposition{}, nil
	}
	status, body, err := e.probe.Get(ctx, k.path)
	switch {
	case err != nil:
		return nil, err
	case status == http.StatusOK:
		return parse(body)
	case k.shy && absent(status):
		return exposition{}, nil
	}
	return nil, fmt.Errorf("engine answered GET %s with status %d", k.path, status)
}

// absent says that an endpoint is not there, or was turned off.
func absent(status int) bool {
	return slices.Contains([]int{http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusNotImplemented, http.StatusForbidden}, status)
}

// ask reads an endpoint that answers in JSON; there is false without it.
func (e *Engine) ask(ctx context.Context, path string, into any) (there bool, err error) {
	status, body, err := e.probe.Get(ctx, path)
	switch {
	case err != nil:
		return false, err
	case absent(status):
		return false, nil
	case status != http.StatusOK:
		return false, fmt.Errorf("engine answered GET %s with status %d", path, status)
	}
	if err := json.Unmarshal(body, into); err != nil {
		return false, fmt.Errorf("read the engine's %s: %w", path, err)
	}
	return true, nil
}

// version reads a version, which does not change while the engine runs, once, from
// the first of the endpoints that tells it. It is asked where requests go; what is
// not told stays unknown.
func (e *Engine) version(ctx context.Context, to *engine.Load, paths ...string) error {
	if known := e.versions.Load(); known != nil {
		to.Version = *known
		return nil
	}
	var found string
	for _, path := range paths {
		status, body, err := e.Get(ctx, path)
		if err != nil {
			return err
		}
		var fields struct {
			Version string `json:"version"`
		}
		if status == http.StatusOK && json.Unmarshal(body, &fields) == nil && fields.Version != "" {
			found = fields.Version
			break
		}
	}
	e.versions.Store(&found)
	to.Version = found
	return nil
}
