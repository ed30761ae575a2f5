package gateway

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime"
	"sync/atomic"

	"golang.org/x/sync/semaphore"

	"fairlead/client"
	"fairlead/gateway/batch"
	"fairlead/gateway/keys"
	"fairlead/wire"
)

// Gateway answers HTTP requests. It is safe for concurrent use.
type Gateway struct {
	cfg      Config
	names    wire.Names
	client   *client.Client
	keys     atomic.Pointer[keys.Set]
	limits   *keys.Limits
	batches  *batch.Store
	runner   *batch.Runner
	models   models
	paces    paces
	metrics  *metrics
	memory   *semaphore.Weighted // bytes of bodies
	inFlight *semaphore.Weighted // requests
	counting *semaphore.Weighted // requests whose tokens are being counted
	draining atomic.Bool

	life context.Context // of every request; ends when the gateway must leave
	end  context.CancelCauseFunc
}

// errLeaving ends the requests of a gateway that must leave at once.
var errLeaving = errors.New("the gateway is going away")

// lineRoom is what a line of a batch may have around its body, bytes.
const lineRoom = 64 << 10

// New makes a gateway. The error names the field at fault.
func New(cfg Config) (*Gateway, error) {
	cfg = cfg.withDefaults()
	if cfg.Conn == nil {
		return nil, errors.New("gateway: connection: is missing")
	}
	if err := cfg.validate(); err != nil {
		return nil, fmt.Errorf("gateway: %w", err)
	}
	names, err := wire.NewNames(cfg.Namespace)
	if err != nil {
		return nil, fmt.Errorf("gateway: %w", err)
	}
	m, err := newMetrics(cfg.Metrics)
	if err != nil {
		return nil, fmt.Errorf("gateway: %w", err)
	}
	c, err := client.New(cfg.Conn, client.Config{Namespace: cfg.Namespace, APIPrefix: cfg.APIPrefix, MaxBuffered: cfg.StreamBuffer, MaxBody: cfg.MaxBody})
	if err != nil {
		return nil, fmt.Errorf("gateway: %w", err)
	}
	g := &Gateway{
		cfg: cfg, names: names, client: c, limits: keys.NewLimits(), metrics: m,
		memory:   semaphore.NewWeighted(cfg.BodyMemory),
		inFlight: semaphore.NewWeighted(int64(cfg.MaxInFlight)),
		counting: semaphore.NewWeighted(int64(runtime.GOMAXPROCS(0))),
	}
	g.life, g.end = context.WithCancelCause(context.Background())
	g.SetKeys(cfg.Keys)
	cfg.Batches.LineBytes = cmp.Or(cfg.Batches.LineBytes, cfg.MaxBody+lineRoom)
	if g.batches, err = batch.NewStore(cfg.Conn, cfg.Namespace, cfg.APIPrefix, cfg.Batches); err != nil {
		return nil, fmt.Errorf("gateway: %w", err)
	}
	g.runner = batch.NewRunner(batch.Config{
		Store: g.batches, Client: c, Prepare: g.prepareLine, Serves: g.served, Describe: describeLine, Log: cfg.Log,
		Lines: m.line, Running: func(n int) { m.batches.Set(float64(n)) },
	})
	return g, nil
}

// SetKeys replaces the API keys; nil takes any client. Requests under way go on.
func (g *Gateway) SetKeys(s *keys.Set) { g.keys.Store(s) }

// Close ends the gateway after its servers have ended.
func (g *Gateway) Close() {
	g.end(errLeaving)
	g.client.Close()
}

// Run runs batches until ctx ends, and hands those that are not done to other
// gateways.
func (g *Gateway) Run(ctx context.Context) {
	if !g.cfg.NoBatches {
		g.runner.Run(ctx)
	}
}

// Ready says why the gateway should get no requests now.
func (g *Gateway) Ready() error {
	switch {
	case g.draining.Load():
		return errors.New("draining")
	case !g.cfg.Conn.IsConnected():
		return errors.New("not connected to NATS")
	}
	return nil
}

// Handler is every path of the API.
func (g *Gateway) Handler() http.Handler {
	mux := http.NewServeMux()
	for _, path := range wire.Paths() {
		mux.Handle("POST "+path, g.handle(path, (*call).ask))
	}
	mux.Handle("GET /v1/models", g.handle("/v1/models", (*call).listModels))
	mux.Handle("GET /v1/models/{id...}", g.handle("/v1/models", (*call).getModel))
	mux.Handle("GET "+asyncPath+"/{id}", g.handle(asyncPath, (*call).getAsync))
	mux.Handle("DELETE "+asyncPath+"/{id}", g.handle(asyncPath, (*call).cancelAsync))
	if !g.cfg.NoBatches {
		g.handleBatches(mux)
	}
	mux.Handle("/", g.handle("other", (*call).unknown))
	return mux
}

// unknown answers paths that nobody serves, and methods that a path does not take.
func (c *call) unknown() error {
	return &fault{status: http.StatusNotFound, code: "not_found", message: fmt.Sprintf("%s %s is not served here; see docs/gateway.md for the paths", c.r.Method, c.r.URL.Path)}
}
