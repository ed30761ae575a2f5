package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/nats-io/nats.go"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/rs/zerolog"
	"golang.org/x/sync/errgroup"

	"fairlead/broker"
	"fairlead/broker/embedded"
	"fairlead/internal/buildinfo"
	"fairlead/internal/daemon"
	"fairlead/internal/store"
	"fairlead/wire"
)

// run serves until a signal, or an error that waiting will not mend.
func run(s *settings) (err error) {
	log, err := s.Logger(os.Stderr)
	if err != nil {
		return err
	}
	stop, abort, release := daemon.Signals(context.Background(), s.Grace)
	defer release()
	nc, url, closeNATS, err := connect(s, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeNATS()) }()
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	b, err := newBroker(s, nc, log, registry)
	if err != nil {
		return err
	}
	mux := daemon.Mux(daemon.Probes{
		Ready: b.Ready, State: b.State, Metrics: promhttp.HandlerFor(registry, promhttp.HandlerOpts{}), PProf: s.PProf,
	})
	log.Info().Str("version", buildinfo.Get().String()).Str("nats", url).Str("http", s.HTTP).Msg("broker starts")
	g, ctx := errgroup.WithContext(stop)
	serving, endServing := context.WithCancel(abort)
	defer endServing()
	g.Go(func() error { return daemon.ServeHTTP(serving, s.HTTP, mux) })
	g.Go(func() error {
		defer endServing()
		return b.Run(ctx)
	})
	g.Go(func() error { return reloads(ctx, s, b, log) })
	err = g.Wait()
	log.Info().Msg("broker stopped")
	return err
}

func newBroker(s *settings, nc *nats.Conn, log zerolog.Logger, reg prometheus.Registerer) (*broker.Broker, error) {
	p, err := s.loadPolicy()
	if err != nil {
		return nil, err
	}
	for _, w := range p.Warnings() {
		log.Warn().Msg("policy: " + w.String())
	}
	names, err := wire.NewNames(s.namespace)
	if err != nil {
		return nil, err
	}
	return broker.New(broker.Config{
		Conn: nc, Name: brokerName(s.name), Names: names, Policy: p, PolicyFile: s.policy, Overload: s.overload,
		Streams: s.streams(), Replies: s.replies, Log: log, Registry: reg,
	})
}

func brokerName(name string) string {
	if name != "" {
		return name
	}
	host, err := os.Hostname()
	if err != nil {
		host = "broker"
	}
	return fmt.Sprintf("%s-%d", host, os.Getpid())
}

// connect starts the embedded server, or joins an external one, also when that
// is not there yet. It returns the address and how to let go.
func connect(s *settings, log zerolog.Logger) (nc *nats.Conn, url string, closeNATS func() error, err error) {
	if s.natsURL != "" {
		url = daemon.Redact(s.natsURL)
		nc, err = join(s, url, log)
		return nc, url, func() error { nc.Close(); return nil }, err
	}
	srv, err := embedded.Start(embedded.Options{
		Host: s.natsHost, Port: s.natsPort, StoreDir: s.storeDir, SyncAlways: s.syncAlways, Log: log.With().Str("part", "nats").Logger(),
	})
	if err != nil {
		return nil, "", nil, err
	}
	nc, err = srv.Connect("fairlead-broker")
	if err != nil {
		return nil, "", nil, errors.Join(err, srv.Stop())
	}
	log.Info().Str("url", srv.URL()).Str("store", s.storeDir).Msg("embedded NATS listens")
	return nc, srv.URL(), func() error { nc.Close(); return srv.Stop() }, nil
}

// join connects to an external server.
func join(s *settings, url string, log zerolog.Logger) (*nats.Conn, error) {
	opts := append(store.Reconnect("fairlead-broker"),
		store.Unreachable(func(err error) { log.Warn().Err(err).Str("url", url).Msg("cannot reach NATS; trying again") }),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) { log.Warn().Err(err).Msg("lost the connection to NATS") }),
		nats.ReconnectHandler(func(*nats.Conn) { log.Info().Msg("connected to NATS again") }),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { log.Warn().Err(err).Msg("NATS reports an error") }),
	)
	if s.creds != "" {
		opts = append(opts, nats.UserCredentials(s.creds))
	}
	nc, err := nats.Connect(s.natsURL, opts...)
	if err != nil {
		return nil, fmt.Errorf("connect to --nats-url: %w", err)
	}
	return nc, nil
}

// reloads reads the policy again at every SIGHUP. A bad file changes nothing.
func reloads(ctx context.Context, s *settings, b *broker.Broker, log zerolog.Logger) error {
	hup := make(chan os.Signal, 1)
	signal.Notify(hup, syscall.SIGHUP)
	defer signal.Stop(hup)
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-hup:
		}
		p, err := s.loadPolicy()
		if err == nil {
			err = b.Reload(p)
		}
		if err != nil {
			log.Error().Err(err).Msg("policy not reloaded; the old one stays")
			continue
		}
		log.Info().Str("file", s.policy).Msg("policy reloaded")
	}
}
