package gateway

import (
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"fairlead/gateway/batch"
	"fairlead/gateway/keys"
	"fairlead/wire"
)

// Config is a gateway. A zero field takes its default.
type Config struct {
	// Conn is a connection to use; it should reconnect for ever, and stays the
	// caller's. Required.
	Conn *nats.Conn
	// Namespace is that of the Fairlead to ask.
	Namespace string
	// APIPrefix is what JetStream's API is called in the account. Default $JS.API.
	APIPrefix string
	// Class is that of a request that names none. Default "default".
	Class string
	// TTL is the time to live of a request that names none; 0 is no deadline.
	TTL time.Duration
	// Keys are the API keys; nil takes any client, with or without a key.
	Keys *keys.Set

	// MaxBody is the largest request body, bytes. Default 64 MiB.
	MaxBody int64
	// BodyMemory bounds the bodies of all requests that are being read or asked,
	// bytes. Default 512 MiB.
	BodyMemory int64
	// MaxInFlight bounds the requests under way. Default 10,000.
	MaxInFlight int
	// StreamBuffer is how much of an answer waits for a slow reader before it is
	// cut off, bytes. Default 1 MiB.
	StreamBuffer int

	// BodyTimeout is how long a client may take to send its body. Default 1 min.
	BodyTimeout time.Duration
	// WriteTimeout is how long one write to a client may take, at least twice
	// KeepAlive: HTTP/2 ends a stream whose next write comes later. Default 30 s.
	WriteTimeout time.Duration
	// IdleTimeout is how long a connection may stay open without a request.
	// Default 2 min.
	IdleTimeout time.Duration
	// HeadersAfter is how long a stream waits for its first chunk before its
	// headers are sent; errors before that have a status of their own. Default 2 s.
	HeadersAfter time.Duration
	// KeepAlive is the time between comments while a stream waits. Default 15 s.
	KeepAlive time.Duration

	// Batches are the limits of the batch API; NoBatches turns that off.
	Batches   batch.Limits
	NoBatches bool

	// Metrics takes the gateway's metrics; nil keeps them to itself.
	Metrics prometheus.Registerer
	// Log takes the gateway's log; the zero value writes nothing.
	Log zerolog.Logger
}

func (c Config) withDefaults() Config {
	orDefault(&c.Class, "default")
	orDefault(&c.MaxBody, 64<<20)
	orDefault(&c.BodyMemory, 512<<20)
	orDefault(&c.MaxInFlight, 10_000)
	orDefault(&c.StreamBuffer, 1<<20)
	orDefault(&c.BodyTimeout, time.Minute)
	orDefault(&c.WriteTimeout, 30*time.Second)
	orDefault(&c.IdleTimeout, 2*time.Minute)
	orDefault(&c.HeadersAfter, 2*time.Second)
	orDefault(&c.KeepAlive, 15*time.Second)
	if c.Metrics == nil {
		c.Metrics = prometheus.NewRegistry()
	}
	return c
}

func orDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// Check reports what is wrong with a configuration, but for its connection.
func (c Config) Check() error {
	c = c.withDefaults()
	return c.validate()
}

func (c Config) validate() error {
	if !wire.ValidToken(c.Class) {
		return fmt.Errorf("class: %q; want 1 to 64 characters of A-Z a-z 0-9 _ -", c.Class)
	}
	if c.TTL != 0 && c.TTL < wire.MinTTL {
		return fmt.Errorf("ttl: %v; want at least %v, or 0 for none", c.TTL, wire.MinTTL)
	}
	for _, f := range []struct {
		name string
		n    int64
	}{{"max body", c.MaxBody}, {"body memory", c.BodyMemory}, {"max in flight", int64(c.MaxInFlight)}, {"stream buffer", int64(c.StreamBuffer)}} {
		if f.n < 1 {
			return fmt.Errorf("%s: %d; want at least 1", f.name, f.n)
		}
	}
	if err := c.Batches.Check(); err != nil {
		return err
	}
	if c.BodyMemory < c.MaxBody {
		return fmt.Errorf("body memory: %d bytes; want at least the max body, %d", c.BodyMemory, c.MaxBody)
	}
	for _, f := range []struct {
		name string
		d    time.Duration
	}{{"body timeout", c.BodyTimeout}, {"write timeout", c.WriteTimeout}, {"idle timeout", c.IdleTimeout},
		{"headers after", c.HeadersAfter}, {"keep alive", c.KeepAlive}} {
		if f.d <= 0 {
			return fmt.Errorf("%s: %v; want a positive duration", f.name, f.d)
		}
	}
	if c.WriteTimeout < 2*c.KeepAlive {
		return fmt.Errorf("write timeout: %v; want at least twice the keep alive, %v", c.WriteTimeout, c.KeepAlive)
	}
	return nil
}
