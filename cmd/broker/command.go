package main

import (
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"fairlead/broker/arbiter"
	"fairlead/internal/access"
	"fairlead/internal/daemon"
	"fairlead/internal/store"
	"fairlead/policy"
	"fairlead/wire"
)

// settings are everything that flags, environment and file may say.
type settings struct {
	daemon.Common
	access.Access
	name       string
	namespace  string
	natsURL    string
	natsHost   string
	natsPort   int
	natsConfig string
	cluster    string
	clusterAt  string
	routes     []string
	storeDir   string
	syncAlways bool
	policy     string
	overload   arbiter.Overload
	replies    []string
	replicas   int
	maxBytes   int64
	maxAsked   int64
	resMaxAge  time.Duration
	resBytes   int64
	deadBytes  int64
	bodyBytes  int64
	bodyMaxAge time.Duration
	flags      *pflag.FlagSet
}

const defaultHTTP = ":8081" // an agent beside it takes 8080

func (s *settings) addFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	s.flags = f
	s.Common.AddFlags(f)
	s.Access.AddFlags(f)
	setDefault(f, "http", defaultHTTP)
	f.StringVar(&s.name, "name", "", "name of this broker in logs and as leader (default: the host's name and a random part)")
	f.StringVar(&s.namespace, "namespace", "", "prefix of all subjects and streams, so that several Fairleads share an account")
	f.StringVar(&s.natsURL, "nats-url", "", "external NATS to use instead of the embedded server")
	f.StringVar(&s.natsHost, "nats-host", "127.0.0.1", "address that the embedded NATS server listens on; 0.0.0.0 for all")
	f.IntVar(&s.natsPort, "nats-port", 4222, "port of the embedded NATS server")
	f.StringVar(&s.natsConfig, "nats-config", "", "nats-server configuration for the embedded server, instead of the flags about it")
	f.StringVar(&s.cluster, "cluster-name", "", "join the embedded servers of several brokers to a cluster of this name; needs --name and --routes")
	f.StringVar(&s.clusterAt, "cluster-listen", "0.0.0.0:6222", "address for the other servers of the cluster")
	f.StringSliceVar(&s.routes, "routes", nil, "nats://host:port of the cluster's servers, with commas; the list may be the same everywhere")
	f.StringVar(&s.storeDir, "store-dir", "fairlead-data", "folder of the embedded server's streams")
	f.BoolVar(&s.syncAlways, "sync-always", false, "flush every write to the disk: survives power loss, costs about ten times")
	f.StringVar(&s.policy, "policy", "", "policy file, in force while none is stored with \"fairlead policy apply\"; without one there is a single class (SIGHUP reads it again)")
	f.Float64Var(&s.overload.KV, "overload-kv", 0, "give a worker nothing more while this fraction of its KV cache is exceeded, 0 to 1; 0 for off")
	f.Int64Var(&s.overload.Waiting, "overload-waiting", 0, "the same for requests that wait inside its engine; 0 for off")
	f.Int64Var(&s.overload.PrefillTokens, "overload-prefill", 0, "the same for uncached tokens in its engine without a first token; 0 for off")
	f.StringSliceVar(&s.replies, "reply-prefix", wire.DefaultReplyPrefixes(), "prefixes that a reply subject must have")
	f.IntVar(&s.replicas, "replicas", 1, "replicas of each stream: 1, 3 or 5")
	f.Int64Var(&s.maxBytes, "max-bytes", 0, "most bytes of queued requests, 0 for no limit; publishers get the store's error beyond it")
	f.Int64Var(&s.maxAsked, "max-requests-per-class", 0, "most requests on one subject (class, or class and worker) that the store takes, also while no broker leads; 0 for no limit; set when the stream is created")
	f.DurationVar(&s.resMaxAge, "result-max-age", time.Hour, "how long results that nobody waited for are kept")
	f.Int64Var(&s.resBytes, "result-max-bytes", 1<<30, "most bytes of such results, the oldest go first; reserved on the disk")
	f.Int64Var(&s.deadBytes, "dead-max-bytes", 1<<30, "most bytes of dead letters; reserved on the disk")
	f.Int64Var(&s.bodyBytes, "body-max-bytes", 1<<30, "most bytes of bodies that no message can carry, of requests that wait or run; reserved on the disk")
	f.DurationVar(&s.bodyMaxAge, "body-max-age", 24*time.Hour, "how long such a body is kept when nobody removes it")
}

// loadPolicy reads the policy file; without one there is the synthetic default.
func (s *settings) loadPolicy() (*policy.Policy, error) {
	if s.policy == "" {
		return policy.Default(), nil
	}
	data, err := os.ReadFile(s.policy)
	if err != nil {
		return nil, fmt.Errorf("--policy: %w", err)
	}
	p, err := policy.Parse(s.policy, data)
	if err != nil {
		return nil, fmt.Errorf("--policy:\n%w", err)
	}
	return p, nil
}

func (s *settings) streams() store.Options {
	return store.Options{Replicas: s.replicas, MaxBytes: s.maxBytes, MaxAsked: s.maxAsked, ResMaxAge: s.resMaxAge, ResBytes: s.resBytes, DeadBytes: s.deadBytes, BodyBytes: s.bodyBytes, BodyMaxAge: s.bodyMaxAge}
}

func command() *cobra.Command {
	var s settings
	cmd := &cobra.Command{
		Use:   "broker",
		Short: "Fairlead broker: a durable, token-fair work queue for LLM inference",
		Long: "Runs a Fairlead broker. With no flags it brings its own NATS server on 127.0.0.1:4222 and keeps its streams in ./fairlead-data.\n" +
			"Settings: flag > environment (" + daemon.EnvName("nats-url") + ", …, or …_FILE) > --config file > default.\n" +
			"SIGTERM hands over and ends, a second one ends at once, SIGHUP reads the policy again.",
		Args: cobra.NoArgs, SilenceUsage: true, SilenceErrors: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := daemon.Load(cmd.Flags()); err != nil {
				return err
			}
			if err := s.check(); err != nil {
				return err
			}
			return run(&s)
		},
	}
	s.addFlags(cmd)
	health := daemon.HealthcheckCommand()
	setDefault(health.Flags(), "http", defaultHTTP)
	var c settings
	cmd.AddCommand(health, daemon.VersionCommand(), daemon.ConfigCommand(c.addFlags, c.check))
	return cmd
}

func setDefault(f *pflag.FlagSet, name, value string) {
	flag := f.Lookup(name)
	flag.DefValue = value
	if err := flag.Value.Set(value); err != nil {
		panic(err) // a constant of ours
	}
}
