package main

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/rs/zerolog"
	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"fairlead/gateway"
	"fairlead/internal/buildinfo"
	"fairlead/internal/daemon"
)

func newCommand() *cobra.Command {
	s := &settings{}
	cmd := &cobra.Command{
		Use:   "gateway",
		Short: "OpenAI's API in front of Fairlead",
		Long: `gateway takes requests of OpenAI's API over HTTP, asks Fairlead, and streams the answers
back. Start as many as you like.

Settings come from flags, then the environment (--nats-url is FAIRLEAD_NATS_URL, and
FAIRLEAD_NATS_URL_FILE names a file that holds it), then the file --config names.

SIGTERM drains: nothing more is taken, what is under way is finished. A second one, or the
end of --grace, cancels it and tells the clients. SIGHUP reads --keys again.`,
		Args: cobra.NoArgs, SilenceUsage: true, SilenceErrors: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := daemon.Load(cmd.Flags()); err != nil {
				return err
			}
			if err := s.check(); err != nil {
				return err
			}
			stop, abort, release := daemon.Signals(cmd.Context(), s.Grace)
			defer release()
			return run(stop, abort, s, cmd.ErrOrStderr())
		},
	}
	s.addFlags(cmd.Flags())
	health := daemon.HealthcheckCommand()
	setDefault(health.Flags(), "http", defaultHTTP)
	checked := &settings{}
	cmd.AddCommand(daemon.VersionCommand(), health, daemon.ConfigCommand(
		func(c *cobra.Command) { checked.addFlags(c.Flags()) }, checked.check))
	return cmd
}

// run wires NATS, gateway and HTTP together, and ends with the API's server.
func run(stop, abort context.Context, s *settings, stderr io.Writer) error {
	log, err := s.Logger(stderr)
	if err != nil {
		return err
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	g, closeAll, err := s.open(log, registry)
	if err != nil {
		return err
	}
	defer closeAll()
	api, err := g.Listen(s.listen)
	if err != nil {
		return err
	}
	serving, endServing := context.WithCancel(context.Background())
	var group errgroup.Group
	if s.HTTP != "" {
		probes, err := daemon.Listen(s.HTTP, daemon.Mux(daemon.Probes{
			Ready: g.Ready, Metrics: promhttp.HandlerFor(registry, promhttp.HandlerOpts{}), PProf: s.PProf,
		}))
		if err != nil {
			endServing()
			return errors.Join(err, api.Close())
		}
		group.Go(func() error { return probes.Run(serving) })
	}
	log.Info().Stringer("build", buildinfo.Get()).Str("listen", api.Addr()).Str("http", s.HTTP).
		Str("nats", daemon.Redact(s.natsURL)).Msg("gateway starts")
	group.Go(func() error { s.reloads(stop, g, log); return nil })
	group.Go(func() error { g.Run(stop); return nil })
	group.Go(func() error {
		defer endServing()
		return api.Run(stop, abort)
	})
	err = group.Wait()
	log.Info().Msg("gateway stopped")
	return err
}

// open makes the gateway on a connection of its own.
func (s *settings) open(log zerolog.Logger, reg prometheus.Registerer) (g *gateway.Gateway, closeAll func(), err error) {
	cfg := s.gateway
	cfg.Namespace, cfg.APIPrefix, cfg.Metrics, cfg.Log = s.namespace, s.APIPrefix, reg, log
	if cfg.Keys, err = s.loadKeys(); err != nil {
		return nil, nil, err
	}
	if cfg.Conn, err = s.connect(log); err != nil {
		return nil, nil, err
	}
	if g, err = gateway.New(cfg); err != nil {
		cfg.Conn.Close()
		return nil, nil, err
	}
	return g, func() { g.Close(); cfg.Conn.Close() }, nil
}

// reloads reads the keys again at every SIGHUP. A bad file changes nothing.
func (s *settings) reloads(ctx context.Context, g *gateway.Gateway, log zerolog.Logger) {
	hup := make(chan os.Signal, 1)
	signal.Notify(hup, syscall.SIGHUP)
	defer signal.Stop(hup)
	for {
		select {
		case <-ctx.Done():
			return
		case <-hup:
		}
		set, err := s.loadKeys()
		if err != nil {
			log.Error().Err(err).Msg("keys not reloaded; the old ones stay")
			continue
		}
		g.SetKeys(set)
		log.Info().Str("file", s.keys).Msg("keys reloaded")
	}
}
