package rig

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// Node is one NATS server of the cluster, as its command line says.
type Node struct {
	Name   string
	Listen string   // host:port for clients
	Mesh   string   // host:port for the other nodes
	Routes []string // host:port of the way to each of the others
	Store  string
}

// NodeCommand is the hidden command that runs a node.
const NodeCommand = "nats-node"

// Args is the command line that [ParseNode] reads.
func (n Node) Args() []string {
	return []string{NodeCommand, n.Name, n.Listen, n.Mesh, strings.Join(n.Routes, ","), n.Store}
}

// ParseNode reads the arguments after the command's name.
func ParseNode(args []string) (Node, error) {
	if len(args) != 5 {
		return Node{}, fmt.Errorf("%s: %d arguments, want name, listen, mesh, routes and store", NodeCommand, len(args))
	}
	return Node{Name: args[0], Listen: args[1], Mesh: args[2], Routes: strings.Split(args[3], ","), Store: args[4]}, nil
}

// Run serves until SIGTERM. The server learns of no other way to its peers than
// its routes: it neither advertises nor believes addresses that would lead
// around a broken one.
func (n Node) Run() error {
	o, err := n.options()
	if err != nil {
		return err
	}
	s, err := server.NewServer(o)
	if err != nil {
		return fmt.Errorf("node %s: %w", n.Name, err)
	}
	s.ConfigureLogger()
	ctx, release := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer release()
	go s.Start()
	if !s.ReadyForConnections(time.Minute) {
		return fmt.Errorf("node %s does not listen on %s", n.Name, n.Listen)
	}
	<-ctx.Done()
	s.Shutdown()
	s.WaitForShutdown()
	return nil
}

func (n Node) options() (*server.Options, error) {
	host, port, err := split(n.Listen)
	mhost, mport, merr := split(n.Mesh)
	if err := errors.Join(err, merr); err != nil {
		return nil, fmt.Errorf("node %s: %w", n.Name, err)
	}
	urls := make([]string, len(n.Routes))
	for i, r := range n.Routes {
		urls[i] = "nats://" + r
	}
	return &server.Options{
		ServerName: n.Name, Host: host, Port: port, JetStream: true, StoreDir: n.Store, NoSigs: true,
		JetStreamMaxStore: maxStore, JetStreamMaxMemory: maxStore,
		MaxPayload: 8 << 20, PingInterval: 5 * time.Second, MaxPingsOut: 2, Logtime: true,
		Cluster: server.ClusterOpts{
			Name: "chaos", Host: mhost, Port: mport, PoolSize: -1, NoAdvertise: true, Advertise: "127.0.0.1:1",
		},
		Routes: server.RoutesFromStr(strings.Join(urls, ",")),
	}, nil
}

// maxStore is more than any limit of a stream: a full disk must come as a
// surprise to the server, not as arithmetic.
const maxStore = 1 << 40

func split(addr string) (host string, port int, err error) {
	host, p, err := net.SplitHostPort(addr)
	if err != nil {
		return "", 0, err
	}
	port, err = strconv.Atoi(p)
	return host, port, err
}
