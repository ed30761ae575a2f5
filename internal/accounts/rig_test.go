package accounts_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"
	"github.com/rs/zerolog"
	"go.uber.org/goleak"

	"fairlead/agent"
	"fairlead/agent/engine/mock"
	"fairlead/broker"
	"fairlead/broker/embedded"
	"fairlead/client"
	"fairlead/internal/accounts"
	"fairlead/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience bounds every wait; none should ever need it.
const patience = 20 * time.Second

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// rig is a server with the shipped accounts, and everybody's keys.
type rig struct {
	t     testing.TB
	ns    string
	flat  bool // one account for all
	srv   *embedded.Server
	pairs map[string]nkeys.KeyPair
	names wire.Names
}

func (r *rig) identity(name string) accounts.Identity {
	pair, err := nkeys.CreateUser()
	must(r.t, err)
	public, err := pair.PublicKey()
	must(r.t, err)
	r.pairs[name] = pair
	return accounts.Identity{Name: name, Key: public}
}

func newRig(t testing.TB, namespace string) *rig {
	t.Helper()
	r := &rig{t: t, ns: namespace, pairs: map[string]nkeys.KeyPair{}}
	var err error
	r.names, err = wire.NewNames(namespace)
	must(t, err)
	reader := r.identity("gw-2")
	reader.Reads = true
	config, err := accounts.Config(accounts.Deployment{
		Namespace: namespace,
		Brokers:   []accounts.Identity{r.identity("broker-1")}, Operators: []accounts.Identity{r.identity("op-1")},
		Frontends: []accounts.Identity{r.identity("gw-1"), reader},
		Workers:   []accounts.Identity{r.identity("gpu-1"), r.identity("gpu-2")},
		System:    []accounts.Identity{r.identity("sys")},
	})
	must(t, err)
	r.serve(config)
	return r
}

// newFlatRig is a server with one account for all, and the same permissions in it.
func newFlatRig(t testing.TB) *rig {
	t.Helper()
	r := &rig{t: t, flat: true, pairs: map[string]nkeys.KeyPair{}}
	r.serve(fmt.Appendf(nil, `accounts { ALL { jetstream: enabled, users: [
		{ nkey: %s }
		{ nkey: %s, permissions: { subscribe: ["_AGENT.gpu-1.>"], publish: ["done.gpu-1", "reg.gpu-1", "$JS.API.CONSUMER.CREATE.WORK.*.work.gpu-1.*",
			"$JS.API.CONSUMER.MSG.NEXT.WORK.*", "$JS.API.CONSUMER.DELETE.WORK.*", "$JS.API.DIRECT.GET.REQ"] } }
		{ nkey: %s, permissions: { subscribe: ["_INBOX.gw-2.>"], publish: ["req.*", "ctl.status", "$JS.API.DIRECT.GET.RES"] } }
	] } }`, r.identity("op-1").Key, r.identity("gpu-1").Key, r.identity("gw-2").Key))
	return r
}

func (r *rig) serve(config []byte) {
	t := r.t
	t.Helper()
	file := filepath.Join(t.TempDir(), "nats.conf")
	must(t, os.WriteFile(file, append([]byte("host: 127.0.0.1\nport: -1\nmax_payload: 1MB\n"), config...), 0o600))
	var err error
	r.srv, err = embedded.Start(embedded.Options{ConfigFile: file, StoreDir: t.TempDir(), Log: zerolog.New(zerolog.NewTestWriter(t)).Level(zerolog.WarnLevel)})
	must(t, err)
	t.Cleanup(func() { must(t, r.srv.Stop()) })
}

// proof are the options that make a connection somebody's.
func (r *rig) proof(name, inbox string) []nats.Option {
	public, err := r.pairs[name].PublicKey()
	must(r.t, err)
	return []nats.Option{nats.Nkey(public, r.pairs[name].Sign), nats.CustomInboxPrefix(inbox)}
}

// connect connects as somebody. What the server refuses goes to the channel.
func (r *rig) connect(name, inbox string) (*nats.Conn, chan error) {
	r.t.Helper()
	refused := make(chan error, 100)
	opts := append(r.proof(name, inbox), nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { refused <- err }))
	nc, err := nats.Connect(r.srv.URL(), opts...)
	must(r.t, err)
	r.t.Cleanup(nc.Close)
	return nc, refused
}

// broker runs one, until the test ends.
func (r *rig) broker() {
	r.t.Helper()
	nc, _ := r.connect("broker-1", "_INBOX.broker-1")
	b, err := broker.New(broker.Config{Conn: nc, Name: "broker-1", Names: r.names, Timing: broker.Timing{Lease: 2 * time.Second, Renew: 500 * time.Millisecond, Act: 1500 * time.Millisecond, Listen: 100 * time.Millisecond}})
	must(r.t, err)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- b.Run(ctx) }()
	r.t.Cleanup(func() { cancel(); must(r.t, <-ended) })
}

// agent runs one with a mock engine, until the test ends.
func (r *rig) agent(name string, cfg mock.Config) {
	r.t.Helper()
	cfg.Speedup = 20
	eng, err := mock.New(cfg)
	must(r.t, err)
	log := zerolog.New(zerolog.NewTestWriter(r.t)).With().Str("agent", name).Logger()
	a, err := agent.New(agent.Config{
		Log: &log,
		URL: r.srv.URL(), Options: r.proof(name, "_AGENT."+name), APIPrefix: accounts.APIPrefix, Names: r.names,
		Worker: name, Engine: eng, Slots: 4, ListenGrace: 500 * time.Millisecond,
	})
	must(r.t, err)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- a.Run(ctx, ctx) }()
	r.t.Cleanup(func() { cancel(); must(r.t, <-ended); must(r.t, eng.Close()) })
}

// client opens a frontend's client.
func (r *rig) client(name string) *client.Client {
	r.t.Helper()
	nc, _ := r.connect(name, "_INBOX."+name)
	c, err := client.New(nc, client.Config{Namespace: r.ns, APIPrefix: accounts.APIPrefix})
	must(r.t, err)
	r.t.Cleanup(c.Close)
	return c
}

func (r *rig) ctx() context.Context {
	ctx, cancel := context.WithTimeout(r.t.Context(), patience)
	r.t.Cleanup(cancel)
	return ctx
}
