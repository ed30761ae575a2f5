package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"

	"github.com/nats-io/nats.go"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/rs/zerolog"
	"golang.org/x/sync/errgroup"

	"fairlead/broker"
	"fairlead/internal/buildinfo"
	"fairlead/internal/daemon"
	"fairlead/wire"
)

// run serves until a signal, or an error that waiting will not mend.
func run(s *settings) error {
	log, err := s.Logger(os.Stderr)
	if err != nil {
		return err
	}
	stop, abort, release := daemon.Signals(context.Background(), s.Grace)
	defer release()
	var b atomic.Pointer[broker.Broker]
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	mux := daemon.Mux(daemon.Probes{
		Ready: func() error { return ready(b.Load()) }, State: func() string { return b.Load().State() },
		Metrics: promhttp.HandlerFor(registry, promhttp.HandlerOpts{}), PProf: s.PProf,
	})
	serving, endServing := context.WithCancel(abort)
	defer endServing()
	g, ctx := errgroup.WithContext(stop)
	if s.HTTP != "" { // first of all: an address in use ends the start before anything is stored
		srv, err := daemon.Listen(s.HTTP, mux)
		if err != nil {
			return err
		}
		g.Go(func() error { return srv.Run(serving) })
	}
	g.Go(func() error {
		defer endServing()
		return serve(ctx, s, log, registry, &b)
	})
	err = g.Wait()
	log.Info().Msg("broker stopped")
	return err
}

func ready(b *broker.Broker) error {
	if b == nil {
		return errors.New("NATS is being started")
	}
	return b.Ready()
}

// serve connects and runs the broker.
func serve(ctx context.Context, s *settings, log zerolog.Logger, reg prometheus.Registerer, to *atomic.Pointer[broker.Broker]) (err error) {
	nc, url, closeNATS, err := connect(s, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeNATS()) }()
	b, err := newBroker(s, nc, log, reg)
	if err != nil {
		return err
	}
	to.Store(b)
	log.Info().Str("version", buildinfo.Get().String()).Str("nats", url).Str("http", s.HTTP).Msg("broker starts")
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return b.Run(ctx) })
	g.Go(func() error { return reloads(ctx, s, b, log) })
	return g.Wait()
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
