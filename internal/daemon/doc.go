// Package daemon is what every long-running program of ours does alike:
// settings by flag, environment, file and default, in this order; logs to
// standard error; one HTTP port for probes and metrics; a first signal that
// stops and a second that aborts. It knows nothing of queues or workers.
//
// A command uses it in five steps:
//
//	common.AddFlags(cmd.Flags())             // --config --log-level --log-format --http …
//	err := daemon.Load(cmd.Flags())          // fills in what the command line left open
//	log, err := common.Logger(os.Stderr)
//	stop, abort, release := daemon.Signals(context.Background(), grace)
//	srv, err := daemon.Listen(common.HTTP, daemon.Mux(probes)); go srv.Run(ctx)
package daemon
