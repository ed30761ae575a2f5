// Package embedded runs a NATS server with JetStream inside the broker's
// process, so that one command is a whole system. The server is a real one:
// clients and agents connect to it over TCP like to any other.
package embedded

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/gofrs/flock"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"

	"fairlead/internal/store"
)

// Options are what a deployment chooses about its server. StoreDir is required.
type Options struct {
	Host       string // to listen on; default 127.0.0.1
	Port       int    // to listen on; 0 picks a free one
	Name       string // of the server; in a cluster it must be unique, and stay the same over restarts
	StoreDir   string // of JetStream; created if missing, used by one process at a time
	SyncAlways bool   // flush every write to the disk: survives power loss, costs about ten times
	MaxPayload int32  // bytes of one message; default 8 MiB
	Cluster    *Cluster
	ConfigFile string // a nats-server configuration to use instead of Host, Port, Cluster and MaxPayload
	Log        zerolog.Logger

	port int // that a restart listens on again
}

// Cluster joins the servers inside several brokers to one.
type Cluster struct {
	Name   string
	Host   string   // to listen on for the other servers; default all addresses
	Port   int      // the same
	Routes []string // nats://host:port of the others; naming itself is fine
}

// Server is a running server. It is safe for concurrent use.
type Server struct {
	options Options
	lock    *flock.Flock
	stop    context.CancelFunc // ends the watch for a full disk
	watched sync.WaitGroup

	mu   sync.Mutex
	nats *server.Server // replaced when it is restarted
}

const (
	defaultMaxPayload = 8 << 20
	startTimeout      = 2 * time.Minute // a large store takes its time
	startLook         = 100 * time.Millisecond
	pingInterval      = 20 * time.Second // the server's own default of 2 min leaves dead agents connected
)

// Start runs a server and waits until it takes connections. The error says what
// would help: a port in use, a folder in use by another process or not writable.
func Start(o Options) (*Server, error) {
	lock, err := lockDir(o.StoreDir)
	if err != nil {
		return nil, err
	}
	n, err := start(o)
	if err != nil {
		return nil, errors.Join(err, lock.Unlock())
	}
	ctx, stop := context.WithCancel(context.Background())
	s := &Server{options: o, lock: lock, stop: stop, nats: n}
	s.options.port = n.Addr().(*net.TCPAddr).Port // whoever connected must find it there again
	s.watched.Go(func() { s.watch(ctx) })
	return s, nil
}

// lockDir makes sure that no second server writes to the same files.
func lockDir(dir string) (*flock.Flock, error) {
	if dir == "" {
		return nil, errors.New("embedded NATS: the store folder is missing; want a folder to keep the streams in")
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("embedded NATS: store folder: %w", err)
	}
	lock := flock.New(filepath.Join(dir, "fairlead.lock"))
	ok, err := lock.TryLock()
	if err != nil {
		return nil, fmt.Errorf("embedded NATS: lock the store folder: %w", err)
	}
	if !ok {
		return nil, fmt.Errorf("embedded NATS: another broker uses the store folder %s; give each its own, or connect this one to that one's server with --nats-url", dir)
	}
	return lock, nil
}

// options are the server's own.
func (o Options) options() (*server.Options, error) {
	so := &server.Options{
		ServerName: o.Name, Host: o.Host, Port: o.Port, SyncAlways: o.SyncAlways, MaxPayload: o.MaxPayload, PingInterval: pingInterval,
	}
	if o.ConfigFile != "" {
		var err error
		if so, err = server.ProcessConfigFile(o.ConfigFile); err != nil {
			return nil, fmt.Errorf("embedded NATS: configuration: %w", err)
		}
	}
	so.JetStream, so.NoSigs, so.DisableJetStreamBanner = true, true, true
	if o.port != 0 {
		so.Port = o.port
	}
	orDefault(&so.StoreDir, o.StoreDir)
	orDefault(&so.ServerName, "fairlead")
	orDefault(&so.Host, "127.0.0.1")
	orDefault(&so.Port, server.RANDOM_PORT)
	orDefault(&so.MaxPayload, defaultMaxPayload)
	if o.Cluster != nil && o.ConfigFile == "" {
		so.Cluster = server.ClusterOpts{Name: o.Cluster.Name, Host: o.Cluster.Host, Port: o.Cluster.Port}
		so.Routes = server.RoutesFromStr(strings.Join(o.Cluster.Routes, ","))
	}
	return so, nil
}

func orDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

func start(o Options) (*server.Server, error) {
	so, err := o.options()
	if err != nil {
		return nil, err
	}
	s, err := server.NewServer(so)
	if err != nil {
		return nil, fmt.Errorf("embedded NATS: %w", err)
	}
	log := &logger{log: o.Log}
	s.SetLoggerV2(log, false, false, false)
	go s.Start()
	for began := time.Now(); !s.ReadyForConnections(startLook); {
		if log.fatal.Load() || time.Since(began) > startTimeout {
			s.Shutdown()
			return nil, fmt.Errorf("embedded NATS on %s:%d did not start: %w", so.Host, so.Port, log.reason())
		}
	}
	return s, nil
}

// URL is where clients and agents connect.
func (s *Server) URL() string { return s.current().ClientURL() }

func (s *Server) current() *server.Server {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.nats
}

// InProcessConn lets a connection of this process find the server that runs now.
func (s *Server) InProcessConn() (net.Conn, error) { return s.current().InProcessConn() }

// Connect makes a connection inside the process; opts may carry credentials.
func (s *Server) Connect(name string, opts ...nats.Option) (*nats.Conn, error) {
	opts = append(append(store.Reconnect(name), nats.InProcessServer(s)), opts...)
	nc, err := nats.Connect("", opts...)
	if err != nil {
		return nil, fmt.Errorf("connect to embedded NATS: %w", err)
	}
	return nc, nil
}

// Stop ends the server, its files in order, and waits for that.
func (s *Server) Stop() error {
	s.stop()
	s.watched.Wait()
	end(s.current())
	return s.lock.Unlock()
}

func end(n *server.Server) {
	n.Shutdown()
	n.WaitForShutdown()
}
