package store

import (
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
)

// Reconnect are the options that every program of ours connects with: try for
// ever, every 100 to 500 ms, also for the first connection.
func Reconnect(name string) []nats.Option {
	return []nats.Option{
		nats.Name(name),
		nats.MaxReconnects(-1),
		nats.RetryOnFailedConnect(true),
		nats.CustomReconnectDelay(func(int) time.Duration {
			return 100*time.Millisecond + rand.N(400*time.Millisecond)
		}),
		nats.PingInterval(10 * time.Second),
		nats.MaxPingsOutstanding(2),
	}
}

// Unreachable tells why no server could be reached, once in each outage: also
// when the first connection fails, which [Reconnect] makes no error.
func Unreachable(tell func(error)) nats.Option {
	var told atomic.Uint64 // outages told of: connections made then, plus 1
	return nats.ReconnectErrHandler(func(nc *nats.Conn, err error) {
		outage := nc.Stats().Reconnects + 1
		if told.Swap(outage) != outage {
			tell(err)
		}
	})
}
