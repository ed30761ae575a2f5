package main

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"
	"github.com/spf13/pflag"

	"fairlead/gateway"
	"fairlead/gateway/batch"
	"fairlead/gateway/keys"
	"fairlead/internal/access"
	"fairlead/internal/daemon"
	"fairlead/internal/store"
	"fairlead/wire"
)

// settings is what the command line, the environment and the file can say.
type settings struct {
	daemon.Common
	access.Access
	listen    string
	natsURL   string
	namespace string
	keys      string
	gateway   gateway.Config
}

// defaultHTTP is beside those of an agent and a broker.
const defaultHTTP = ":8082"

// addFlags adds every flag with its default.
func (s *settings) addFlags(f *pflag.FlagSet) {
	s.Common.AddFlags(f)
	setDefault(f, "http", defaultHTTP)
	f.Lookup("grace").Usage = "how long a drain may take before requests are cancelled; 0 is for ever"
	f.StringVar(&s.listen, "listen", ":8090", "address of the API")
	f.StringVar(&s.natsURL, "nats-url", nats.DefaultURL, "NATS servers, separated by commas")
	s.Access.AddFlags(f)
	f.StringVar(&s.namespace, "namespace", "", "namespace of the Fairlead, as the broker has it")
	f.StringVar(&s.keys, "keys", "", "file of API keys; without one any client is taken (SIGHUP reads it again)")
	g := &s.gateway
	f.StringVar(&g.Class, "class", "default", "class of requests that name none")
	f.DurationVar(&g.TTL, "ttl", 0, "time to live of requests that name none; 0 is no deadline")
	f.Int64Var(&g.MaxBody, "max-body-bytes", 64<<20, "largest request body")
	f.Int64Var(&g.BodyMemory, "body-memory-bytes", 512<<20, "memory for the bodies of all requests that are being read or asked")
	f.IntVar(&g.MaxInFlight, "max-in-flight", 10_000, "most requests under way")
	f.IntVar(&g.StreamBuffer, "stream-buffer-bytes", 1<<20, "how much of an answer waits for a slow reader before it is cut off")
	f.DurationVar(&g.BodyTimeout, "body-timeout", time.Minute, "how long a client may take to send its body")
	f.DurationVar(&g.WriteTimeout, "write-timeout", 30*time.Second, "how long one write to a client may take")
	f.DurationVar(&g.IdleTimeout, "idle-timeout", 2*time.Minute, "how long a connection may stay open without a request")
	f.DurationVar(&g.HeadersAfter, "headers-after", 2*time.Second, "how long a stream waits for its first chunk before its headers are sent")
	l, d := &g.Batches, batch.Limits{}.WithDefaults()
	f.BoolVar(&g.NoBatches, "no-batches", false, "serve no files and batches, and create no buckets for them")
	f.Int64Var(&l.FileBytes, "file-max-bytes", d.FileBytes, "largest input file of a batch")
	f.Int64Var(&l.AllFiles, "files-max-bytes", d.AllFiles, "most bytes of all files; reserved on the disk when the first file comes")
	f.Int64Var(&l.AllLines, "batch-results-max-bytes", d.AllLines, "most bytes of results of running batches; reserved as well")
	f.DurationVar(&l.Keep, "files-max-age", d.Keep, "how long files and batches are kept")
	f.IntVar(&l.Lines, "batch-max-lines", d.Lines, "most lines of a batch")
	f.IntVar(&l.Window, "batch-window", d.Window, "lines of one batch that are asked at once")
	f.IntVar(&l.Batches, "batch-runs", d.Batches, "batches that this gateway runs at once")
	f.IntVar(&l.Replicas, "replicas", d.Replicas, "replicas of the buckets for files and batches, when this gateway creates them: 1, 3 or 5")
	f.DurationVar(&g.KeepAlive, "keep-alive", 15*time.Second, "time between comments while a stream waits")
}

func setDefault(f *pflag.FlagSet, name, value string) {
	flag := f.Lookup(name)
	flag.DefValue = value
	if err := flag.Value.Set(value); err != nil {
		panic(err) // a constant of ours
	}
}

// loadKeys reads the file of keys; nil without one.
func (s *settings) loadKeys() (*keys.Set, error) {
	if s.keys == "" {
		return nil, nil //nolint:nilnil // no file is no error: any client is taken
	}
	data, err := os.ReadFile(s.keys)
	if err != nil {
		return nil, fmt.Errorf("--keys: %w", err)
	}
	set, err := keys.Parse(data)
	if err != nil {
		return nil, fmt.Errorf("--keys %s: %w", s.keys, err)
	}
	return set, nil
}

// check reports what is wrong with the settings.
func (s *settings) check() error {
	if s.listen == "" {
		return errors.New("--listen is empty: want host:port or :port")
	}
	if _, err := wire.NewNames(s.namespace); err != nil {
		return fmt.Errorf("--namespace: %w", err)
	}
	if _, err := s.loadKeys(); err != nil {
		return err
	}
	return errors.Join(s.Check(), s.gateway.Check())
}

// connect joins NATS, also when that is not there yet.
func (s *settings) connect(log zerolog.Logger) (*nats.Conn, error) {
	url := daemon.Redact(s.natsURL)
	opts := append(store.Reconnect("fairlead-gateway"),
		store.Unreachable(func(err error) { log.Warn().Err(err).Str("url", url).Msg("cannot reach NATS; trying again") }),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if err != nil { // nil is our own leaving
				log.Warn().Err(err).Msg("lost the connection to NATS")
			}
		}),
		nats.ReconnectHandler(func(*nats.Conn) { log.Info().Msg("connected to NATS again") }),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { log.Warn().Err(err).Msg("NATS reports an error") }),
	)
	own, err := s.Options()
	if err != nil {
		return nil, err
	}
	nc, err := nats.Connect(s.natsURL, append(opts, own...)...)
	if err != nil {
		return nil, fmt.Errorf("connect to --nats-url: %w", err)
	}
	return nc, nil
}
