package client

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"fairlead/internal/store"
	"fairlead/wire"
)

// Config is what a program chooses about its client. Zero means default.
type Config struct {
	Namespace string // of the Fairlead to ask, "" none
	APIPrefix string // what JetStream's API is called in the account; default $JS.API

	// PublishTimeout bounds how long Submit repeats a publish that was not
	// answered; default and maximum 20 s, which the store's window of 30 s for
	// duplicates covers.
	PublishTimeout time.Duration
	// DeadlineGrace is how long after its deadline a request is ended by this
	// client's own clock; default 5 s.
	DeadlineGrace time.Duration
	// LostGrace is how long a result may still arrive after the leader has said
	// that its request ended; default 5 s.
	LostGrace time.Duration
	// Silence is how long nothing may be heard of a request before the leader is
	// asked what became of it; default 15 s. While it goes on and stays silent, it
	// is asked about less and less often, at least once in 8 times Silence.
	Silence time.Duration
	// MaxBuffered is how many bytes of a result wait for a slow reader before
	// the request fails; default 64 MiB.
	MaxBuffered int
	// MaxBody is the largest body of a request, bytes; default 64 MiB. Those that no
	// message can carry go through a bucket of the store.
	MaxBody int64

	// Options are further options of Connect, after those that reconnect for ever.
	Options []nats.Option
}

const maxPublishTimeout = 20 * time.Second

func (c Config) withDefaults() (Config, error) {
	for _, f := range []struct {
		name  string
		value time.Duration
	}{{"PublishTimeout", c.PublishTimeout}, {"DeadlineGrace", c.DeadlineGrace}, {"LostGrace", c.LostGrace}, {"Silence", c.Silence}} {
		if f.value < 0 {
			return c, fmt.Errorf("client: %s %v; want a positive duration, or 0 for the default", f.name, f.value)
		}
	}
	if c.PublishTimeout > maxPublishTimeout {
		return c, fmt.Errorf("client: PublishTimeout %v; want at most %v", c.PublishTimeout, maxPublishTimeout)
	}
	if c.MaxBody < 0 {
		return c, fmt.Errorf("client: MaxBody %d; want a number of bytes, or 0 for the default", c.MaxBody)
	}
	if c.MaxBuffered < 0 {
		return c, fmt.Errorf("client: MaxBuffered %d; want a number of bytes, or 0 for the default", c.MaxBuffered)
	}
	c.PublishTimeout = cmp.Or(c.PublishTimeout, maxPublishTimeout)
	c.DeadlineGrace = cmp.Or(c.DeadlineGrace, 5*time.Second)
	c.LostGrace = cmp.Or(c.LostGrace, 5*time.Second)
	c.Silence = cmp.Or(c.Silence, 15*time.Second)
	c.MaxBuffered = cmp.Or(c.MaxBuffered, 64<<20)
	c.MaxBody = cmp.Or(c.MaxBody, 64<<20)
	return c, nil
}

// Client asks one Fairlead over one connection. It is safe for concurrent use.
type Client struct {
	cfg    Config
	names  wire.Names
	nc     *nats.Conn
	store  *store.Store
	ownsNC bool

	msgs   chan *nats.Msg // of every request's subscription, to the dispatcher
	doubts chan struct{}  // wakes the keeper; holds one signal
	drops  chan string    // bodies in the bucket to be removed
	status chan nats.Status

	ctx    context.Context // ends with the client
	cancel context.CancelFunc
	wg     sync.WaitGroup

	mu   sync.Mutex          // guards open
	open map[string]*Pending // by the subject that it listens on; nil once closed
}

// backlog is how many messages of all requests may wait for the dispatcher. It
// only sorts them, so that a full channel means a starved process; what is
// dropped then is found and told (see dispatch).
const backlog = 1 << 16

// Connect connects to a server and opens a client, which Close closes with its
// connection. A first connection that fails is an error; later ones are tried
// for ever.
func Connect(url string, cfg Config) (*Client, error) {
	opts := append(store.Reconnect("fairlead client"), nats.RetryOnFailedConnect(false))
	nc, err := nats.Connect(url, append(opts, cfg.Options...)...)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", url, err)
	}
	c, err := New(nc, cfg)
	if err != nil {
		nc.Close()
		return nil, err
	}
	c.ownsNC = true
	return c, nil
}

// New opens a client on a connection, which stays the caller's. The connection
// should reconnect for ever (nats.MaxReconnects(-1)); its inbox prefix must be
// one that the deployment allows, by default _INBOX.
func New(nc *nats.Conn, cfg Config) (*Client, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	names, err := wire.NewNames(cfg.Namespace)
	if err != nil {
		return nil, fmt.Errorf("client: %w", err)
	}
	st, err := store.OpenAs(nc, names, cfg.APIPrefix)
	if err != nil {
		return nil, fmt.Errorf("client: %w", err)
	}
	c := &Client{
		cfg: cfg, names: names, nc: nc, store: st,
		msgs: make(chan *nats.Msg, backlog), doubts: make(chan struct{}, 1), drops: make(chan string, maxDrops),
		status: nc.StatusChanged(nats.CONNECTED, nats.CLOSED),
		open:   make(map[string]*Pending),
	}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	c.wg.Go(c.dispatch)
	c.wg.Go(c.keep)
	c.wg.Go(c.sweep)
	return c, nil
}

// Close ends the client: open requests end with [ErrClosed], but are not
// cancelled. It waits for the client's goroutines and may be called twice.
func (c *Client) Close() {
	c.cancel()
	c.wg.Wait()
	c.mu.Lock()
	open := c.open
	c.open = nil
	c.mu.Unlock()
	if open == nil {
		return
	}
	for _, p := range open {
		p.fail(ErrClosed)
	}
	c.nc.RemoveStatusListener(c.status)
	if c.ownsNC {
		c.nc.Close()
	}
}

// dispatch sorts the messages of every request to their owners.
func (c *Client) dispatch() {
	overrun := false
	for {
		select {
		case m := <-c.msgs:
			overrun = overrun || len(c.msgs) >= cap(c.msgs)-1
			if p := c.lookup(m.Subject); p != nil {
				p.receive(m)
			}
			if overrun && len(c.msgs) == 0 {
				overrun = false
				c.findDropped()
			}
		case <-c.ctx.Done():
			return
		}
	}
}

// findDropped tells every request of which the connection had to drop a message
// because the dispatcher was starved.
func (c *Client) findDropped() {
	for _, p := range c.pending() {
		p.checkDropped()
	}
}

func (c *Client) lookup(subject string) *Pending {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.open[subject]
}

// pending lists the requests that are listened for.
func (c *Client) pending() []*Pending {
	c.mu.Lock()
	defer c.mu.Unlock()
	list := make([]*Pending, 0, len(c.open))
	for _, p := range c.open {
		list = append(list, p)
	}
	return list
}

// listen subscribes a request to its subject.
func (c *Client) listen(p *Pending) error {
	c.mu.Lock()
	closed := c.open == nil
	_, taken := c.open[p.subject]
	if !closed && !taken {
		c.open[p.subject] = p
	}
	c.mu.Unlock()
	switch {
	case closed:
		return ErrClosed
	case taken:
		return fmt.Errorf("listen on %s: %w", p.subject, ErrListening)
	}
	sub, err := c.nc.ChanSubscribe(p.subject, c.msgs)
	if err != nil {
		c.forget(p)
		return fmt.Errorf("listen on %s: %w", p.subject, err)
	}
	p.subscribed(sub)
	return nil
}

// forget takes a request out of the table, so that it hears nothing more.
func (c *Client) forget(p *Pending) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.open[p.subject] == p {
		delete(c.open, p.subject)
	}
}
