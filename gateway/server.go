package gateway

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"
)

// Bounds of the HTTP server.
const (
	headerTimeout = 10 * time.Second
	maxHeaders    = 64 << 10        // bytes
	leaveGrace    = 5 * time.Second // for telling clients that the gateway must leave
)

// Server serves a gateway on an address.
type Server struct {
	g        *Gateway
	listener net.Listener
	http     *http.Server
}

// Listen takes the address, so that a clash shows at the start. Port 0 takes a
// free one.
func (g *Gateway) Listen(addr string) (*Server, error) {
	l, err := new(net.ListenConfig).Listen(context.Background(), "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", addr, err)
	}
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true)
	return &Server{g: g, listener: l, http: &http.Server{
		Handler: g.Handler(), ReadHeaderTimeout: headerTimeout, IdleTimeout: g.cfg.IdleTimeout, MaxHeaderBytes: maxHeaders,
		ReadTimeout: g.cfg.BodyTimeout, // of a body that nobody reads, as after a wrong key: the server reads it to its end
		BaseContext: func(net.Listener) context.Context { return g.life }, Protocols: &protocols,
	}}, nil
}

// Addr is the address in use.
func (s *Server) Addr() string { return s.listener.Addr().String() }

// Run serves until stop ends; then it takes nothing more and finishes what is
// under way. When abort ends, that is cancelled, and its clients are told.
func (s *Server) Run(stop, abort context.Context) error {
	served := make(chan error, 1)
	go func() { served <- s.http.Serve(s.listener) }()
	select {
	case err := <-served:
		return fmt.Errorf("serve HTTP: %w", err)
	case <-stop.Done():
	}
	s.g.draining.Store(true)
	err := s.http.Shutdown(abort)
	if err != nil && abort.Err() != nil {
		s.g.end(errLeaving)
		late, cancel := context.WithTimeout(context.Background(), leaveGrace)
		defer cancel()
		if err = s.http.Shutdown(late); err != nil {
			err = errors.Join(errors.New("some clients could not be told that the gateway leaves"), s.http.Close())
		}
	}
	if end := <-served; !errors.Is(end, http.ErrServerClosed) {
		err = errors.Join(err, fmt.Errorf("serve HTTP: %w", end))
	}
	return err
}

// Close gives the address back without serving.
func (s *Server) Close() error { return s.listener.Close() }
