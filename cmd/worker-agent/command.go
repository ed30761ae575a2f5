package main

import (
	"context"
	"fmt"
	"io"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"fairlead/agent"
	"fairlead/internal/buildinfo"
	"fairlead/internal/daemon"
)

func newCommand() *cobra.Command {
	s := &settings{}
	cmd := &cobra.Command{
		Use:   "worker-agent",
		Short: "Work for a Fairlead broker with one inference engine",
		Long: `worker-agent takes claims from a Fairlead broker, runs them on the inference engine
beside it and streams the answers back to whoever asked.

Settings come from flags, then the environment (--nats-url is FAIRLEAD_NATS_URL, and
FAIRLEAD_NATS_URL_FILE names a file that holds it), then the file --config names.

SIGTERM drains: no more work is taken, what runs is finished. A second one, or the end
of --grace, cancels the engine calls and gives their work back.

Exit codes: 0 left in order, 1 failed, 3 superseded by a newer agent of the same worker.`,
		Args: cobra.NoArgs, SilenceUsage: true, SilenceErrors: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := daemon.Load(cmd.Flags()); err != nil {
				return err
			}
			stop, abort, release := daemon.Signals(cmd.Context(), s.Grace)
			defer release()
			return run(stop, abort, s, cmd.ErrOrStderr())
		},
	}
	s.addFlags(cmd.Flags())
	checked := &settings{}
	cmd.AddCommand(daemon.VersionCommand(), daemon.HealthcheckCommand(), daemon.ConfigCommand(
		func(c *cobra.Command) { checked.addFlags(c.Flags()) }, checked.check))
	return cmd
}

// run wires engine, agent and HTTP together, and ends with the agent.
func run(stop, abort context.Context, s *settings, stderr io.Writer) error {
	log, err := s.Logger(stderr)
	if err != nil {
		return err
	}
	eng, err := s.newEngine()
	if err != nil {
		return err
	}
	defer eng.Close()
	cfg, err := s.agentConfig()
	if err != nil {
		return err
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	cfg.Engine, cfg.Metrics, cfg.Log = eng, registry, &log
	a, err := agent.New(cfg)
	if err != nil {
		return err
	}
	log.Info().Stringer("build", buildinfo.Get()).Str("worker", s.worker).Str("engine", eng.Kind()).
		Str("nats", daemon.Redact(s.natsURL)).Str("http", s.HTTP).Msg("starting")
	probes := daemon.Probes{Ready: a.Ready, Metrics: promhttp.HandlerFor(registry, promhttp.HandlerOpts{}), PProf: s.PProf}
	return together(abort, s.HTTP, probes, func() error { return a.Run(stop, abort) })
}

// together serves HTTP for as long as work runs. Without its address the program
// does not start.
func together(ctx context.Context, addr string, probes daemon.Probes, work func() error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	serve := func(ctx context.Context) error { return daemon.ServeHTTP(ctx, addr, nil) }
	if addr != "" {
		srv, err := daemon.Listen(addr, daemon.Mux(probes))
		if err != nil {
			return err
		}
		serve = srv.Run
	}
	var group errgroup.Group
	group.Go(func() error { return serve(ctx) })
	err := work()
	cancel()
	if served := group.Wait(); served != nil && err == nil {
		return fmt.Errorf("after the work: %w", served)
	}
	return err
}
