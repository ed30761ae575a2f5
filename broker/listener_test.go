package broker

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"
	"github.com/prometheus/client_golang/prometheus"

	"fairlead/wire"
)

func newTestListener() *listener {
	return newListener(&Broker{metrics: newMetrics(prometheus.NewPedanticRegistry())})
}

func (l *listener) names() []string { return slices.Sorted(maps.Keys(l.last)) }

// TestBadBeats: what no agent sends is neither kept nor told to the term.
func TestBadBeats(t *testing.T) {
	l := newTestListener()
	for _, h := range []wire.Heartbeat{
		{Worker: "w"},
		{Worker: "a$b"},
		{Worker: strings.Repeat("w", 65)},
		{Worker: "models", Models: make([]string, 1025)},
		{Worker: "taints", Taints: []string{strings.Repeat("t", 257)}},
	} {
		l.onBeat(&nats.Msg{Subject: "load." + h.Worker, Data: wire.Encode(&h)})
	}
	l.onBeat(&nats.Msg{Subject: "load.other", Data: wire.Encode(&wire.Heartbeat{Worker: "another"})})
	if diff := cmp.Diff([]string{"w"}, l.names()); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

// TestSilentWorkersAreForgotten, whether or not a term listens.
func TestSilentWorkersAreForgotten(t *testing.T) {
	l, now := newTestListener(), time.Now()
	l.keep(wire.Heartbeat{Worker: "old"}, now)
	l.keep(wire.Heartbeat{Worker: "new"}, now.Add(stale/2))
	l.keep(wire.Heartbeat{Worker: "newer"}, now.Add(stale+1))
	if diff := cmp.Diff([]string{"new", "newer"}, l.names()); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}
