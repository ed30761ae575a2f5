package daemon

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/pprof"
	"time"
)

// Bounds of the HTTP server.
const (
	headerTimeout   = 5 * time.Second
	shutdownTimeout = 5 * time.Second
)

// Probes is what a daemon answers on its HTTP port.
type Probes struct {
	// Ready says why the daemon should get no work now; nil when it should.
	Ready func() error
	// State says in a few words what it is doing, when it is ready; nil says nothing.
	State func() string
	// Metrics serves /metrics; nil serves none.
	Metrics http.Handler
	// PProf serves profiles.
	PProf bool
}

// Mux answers /healthz (the process runs), /readyz, /metrics and, when asked
// for, /debug/pprof/. Callers may add routes of their own.
func Mux(p Probes) *http.ServeMux {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", p.readyz)
	if p.Metrics != nil {
		mux.Handle("GET /metrics", p.Metrics)
	}
	if p.PProf {
		mux.HandleFunc("GET /debug/pprof/", pprof.Index)
		mux.HandleFunc("GET /debug/pprof/cmdline", pprof.Cmdline)
		mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
		mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
		mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	}
	return mux
}

func (p Probes) readyz(w http.ResponseWriter, _ *http.Request) {
	if err := p.Ready(); err != nil {
		http.Error(w, "not ready: "+err.Error(), http.StatusServiceUnavailable)
		return
	}
	if p.State != nil {
		fmt.Fprintf(w, "ok: %s\n", p.State())
		return
	}
	fmt.Fprintln(w, "ok")
}

// Server is an HTTP server that listens already.
type Server struct {
	listener net.Listener
	http     *http.Server
}

// Listen takes the address, so that a clash shows at the start. Port 0 takes a
// free one.
func Listen(addr string, h http.Handler) (*Server, error) {
	l, err := new(net.ListenConfig).Listen(context.Background(), "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("listen on --http %s: %w", addr, err)
	}
	return &Server{listener: l, http: &http.Server{Handler: h, ReadHeaderTimeout: headerTimeout}}, nil
}

// Addr is the address in use.
func (s *Server) Addr() string { return s.listener.Addr().String() }

// Run serves until the context ends, and then finishes what is under way, for
// a few seconds at most. It must be called once.
func (s *Server) Run(ctx context.Context) error {
	stopped := make(chan error, 1)
	unhook := context.AfterFunc(ctx, func() {
		late, cancel := context.WithTimeout(context.Background(), shutdownTimeout)
		defer cancel()
		stopped <- s.http.Shutdown(late)
	})
	err := s.http.Serve(s.listener)
	if unhook() || !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve HTTP: %w", err)
	}
	if err := <-stopped; err != nil {
		return errors.Join(fmt.Errorf("stop HTTP: %w", err), s.http.Close())
	}
	return nil
}

// ServeHTTP is Listen and Run; an empty address serves nothing and returns when
// the context ends.
func ServeHTTP(ctx context.Context, addr string, h http.Handler) error {
	if addr == "" {
		<-ctx.Done()
		return nil
	}
	s, err := Listen(addr, h)
	if err != nil {
		return err
	}
	return s.Run(ctx)
}
