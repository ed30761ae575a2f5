package embedded

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

const (
	healthLook = 2 * time.Second
	spare      = 16 << 20 // bytes that must be free again: recovery writes too
)

// watch restarts the server after a disk that was full, once there is room again:
// a stream that a write has failed in takes no more until then (nats-server 2.15).
func (s *Server) watch(ctx context.Context) {
	ticker := time.NewTicker(healthLook)
	defer ticker.Stop()
	var before error
	said := false
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		err := broken(s.current())
		twice := err != nil && before != nil // a stream that is being deleted looks broken once
		before = err
		if err == nil {
			said = false
			continue
		}
		if twice && !said {
			said = true
			s.options.Log.Error().Err(err).Str("folder", s.options.StoreDir).Msg("embedded NATS stopped writing; it restarts when there is room in its folder")
		}
		if twice && s.room() == nil {
			s.restart()
		}
	}
}

// broken says what stopped the server's writes. In a cluster a replica that cannot
// write has shut its JetStream down; one that only lags is not broken.
func broken(n *server.Server) error {
	if !n.JetStreamEnabled() {
		return errors.New("JetStream has shut down")
	}
	if n.JetStreamIsClustered() {
		return nil
	}
	for _, e := range n.Healthz(&server.HealthzOptions{Details: true}).Errors {
		if e.Type == server.HealthzErrorStream {
			return errors.New(e.Error)
		}
	}
	return nil
}

// room tries whether the folder takes a good deal more, on the disk itself.
func (s *Server) room() error {
	f, err := os.Create(filepath.Join(s.options.StoreDir, "fairlead.room"))
	if err != nil {
		return err
	}
	_, err = f.Write(make([]byte, spare))
	return errors.Join(err, f.Sync(), f.Close(), os.Remove(f.Name()))
}

// restart replaces the server; clients reconnect to the same port. When it fails,
// the next look tries again.
func (s *Server) restart() {
	log := s.options.Log
	log.Warn().Msg("embedded NATS has room again and restarts")
	end(s.current())
	n, err := start(s.options)
	if err != nil {
		log.Error().Err(err).Msg("embedded NATS did not restart; trying again")
		return
	}
	s.mu.Lock()
	s.nats = n
	s.mu.Unlock()
}
