package store

import (
	"math/rand/v2"
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
