package main

import (
	"errors"
	"fmt"

	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"

	"fairlead/broker/embedded"
	"fairlead/internal/daemon"
	"fairlead/internal/store"
)

// connect starts the embedded server, or joins an external one, also when that
// is not there yet. It returns the address and how to let go.
func connect(s *settings, log zerolog.Logger) (nc *nats.Conn, url string, closeNATS func() error, err error) {
	opts, err := s.Options()
	if err != nil {
		return nil, "", nil, err
	}
	if s.natsURL != "" {
		url = daemon.Redact(s.natsURL)
		log.Info().Str("url", url).Msg("external NATS")
		nc, err = join(s, url, opts, log)
		return nc, url, func() error { nc.Close(); return nil }, err
	}
	srv, err := embedded.Start(s.embedded(log.With().Str("part", "nats").Logger()))
	if err != nil {
		return nil, "", nil, err
	}
	nc, err = srv.Connect("fairlead-broker", opts...)
	if err != nil {
		return nil, "", nil, errors.Join(err, srv.Stop())
	}
	log.Info().Str("url", srv.URL()).Str("store", s.storeDir).Msg("embedded NATS listens")
	return nc, srv.URL(), func() error { nc.Close(); return srv.Stop() }, nil
}

// embedded is the server that the settings ask for.
func (s *settings) embedded(log zerolog.Logger) embedded.Options {
	o := embedded.Options{
		Host: s.natsHost, Port: s.natsPort, Name: s.name, StoreDir: s.storeDir, SyncAlways: s.syncAlways, ConfigFile: s.natsConfig, Log: log,
	}
	if s.cluster != "" {
		host, port, _ := s.clusterAddr() // checked at the start
		o.Cluster = &embedded.Cluster{Name: s.cluster, Host: host, Port: port, Routes: s.routes}
	}
	return o
}

// join connects to an external server.
func join(s *settings, url string, opts []nats.Option, log zerolog.Logger) (*nats.Conn, error) {
	own := append(store.Reconnect("fairlead-broker"),
		store.Unreachable(func(err error) { log.Warn().Err(err).Str("url", url).Msg("cannot reach NATS; trying again") }),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if err != nil { // nil is our own leaving
				log.Warn().Err(err).Msg("lost the connection to NATS")
			}
		}),
		nats.ReconnectHandler(func(*nats.Conn) { log.Info().Msg("connected to NATS again") }),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { log.Warn().Err(err).Msg("NATS reports an error") }),
	)
	nc, err := nats.Connect(s.natsURL, append(own, opts...)...)
	if err != nil {
		return nil, fmt.Errorf("connect to --nats-url: %w", err)
	}
	return nc, nil
}
