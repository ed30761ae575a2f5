package agent

import (
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"fairlead/agent/engine/mock"
	"fairlead/wire"
)

// BenchmarkAgent is one agent on a fast mock engine, from the claim in WORK to
// the DONE, on a file store with clients, server and agent on one machine. An
// op is a request; a stream has 16 chunks.
func BenchmarkAgent(b *testing.B) {
	for name, body := range map[string]string{"whole": `{"max_tokens":16}`, "stream": `{"stream":true,"max_tokens":16}`} {
		for _, slots := range []int{8, 64} {
			b.Run(fmt.Sprintf("%s/slots=%d", name, slots), func(b *testing.B) { benchmarkAgent(b, slots, body) })
		}
	}
}

func benchmarkAgent(b *testing.B, slots int, body string) {
	w := newWorldWithStreams(b)
	left := make(chan struct{})
	b.Cleanup(func() { close(left) }) // once the agent has ended, which start sees to
	eng, err := mock.New(mock.Config{Slots: slots, Speedup: 1e6})
	w.must(err)
	defer eng.Close()
	r := w.start(eng, func(c *Config) { c.Slots, c.Heartbeat = slots, time.Second })
	r.ready()
	subject, results := w.nc.NewInbox(), make(chan *nats.Msg, 65536)
	_, err = w.nc.ChanSubscribe(subject, results)
	w.must(err)
	go func() { // nobody wants them here, and a full channel would hold up the rest
		for {
			select {
			case <-r.events:
			case <-left:
				return
			}
		}
	}()
	ids := make([]uint64, b.N)
	for i := range ids {
		ids[i] = w.ask(request{body, reply(subject)})
	}
	work := w.st.Names.Work("w1", r.agent.Incarnation())
	b.ResetTimer()
	for i, id := range ids {
		_, err := w.st.JS.PublishAsync(work, wire.Encode(&wire.Claim{ID: id, Attempt: 1, Class: "chat", Rank: -1}))
		w.must(err)
		if i >= 4*slots { // as a broker does, give no more than the worker can take
			r.done()
		}
	}
	for range min(b.N, 4*slots) {
		r.done()
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "requests/s")
}
