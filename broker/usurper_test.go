package broker

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"

	"fairlead/internal/store"
	"fairlead/wire"
)

// cluster starts servers in this process and returns where they listen.
func cluster(t *testing.T, n int) []string {
	t.Helper()
	var urls []string
	routes := ""
	for i := range n {
		o := &server.Options{
			ServerName: fmt.Sprintf("n%d", i), Host: "127.0.0.1", Port: -1, JetStream: true, StoreDir: t.TempDir(), NoLog: true, NoSigs: true,
		}
		if n > 1 {
			o.Cluster = server.ClusterOpts{Name: "test", Host: "127.0.0.1", Port: -1}
			o.Routes = server.RoutesFromStr(routes)
		}
		s, err := server.NewServer(o)
		if err != nil {
			t.Fatal(err)
		}
		go s.Start()
		t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
		if !s.ReadyForConnections(time.Minute) {
			t.Fatal("a server does not start")
		}
		urls = append(urls, s.ClientURL())
		if n > 1 && i == 0 {
			routes = "nats://" + s.ClusterAddr().String()
		}
	}
	return urls
}

// believer is a broker that holds the lease and does nothing to keep it: it
// believes in it for as long as the test likes.
func believer(t *testing.T, url, name string, replicas int) *lease {
	t.Helper()
	nc, err := nats.Connect(url, store.Reconnect(name)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	b, err := New(Config{Conn: nc, Name: name, Log: zerolog.Nop(), Streams: store.Options{Replicas: replicas}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := b.ensureStreams(ctx); err != nil {
		t.Fatal(err)
	}
	l, err := b.campaign(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// writer hands out made-up claims through the fence of a leader, on every guard
// at once.
type writer struct {
	fence  *fence
	next   atomic.Uint64
	stored atomic.Uint64
}

// claim stores one claim on guard k.
func (w *writer) claim(ctx context.Context, k int) error {
	c := wire.Claim{ID: w.next.Add(1), Attempt: 1, Epoch: w.fence.lease.epoch}
	_, err := w.fence.publish(ctx, k, write{prepare: func(context.Context) (*nats.Msg, error) {
		m := nats.NewMsg(w.fence.lease.b.cfg.Names.Work("w1", 1))
		m.Header.Set(wire.HeaderMsgID, c.DedupID())
		m.Data = wire.Encode(&c)
		return m, nil
	}})
	if err == nil {
		w.stored.Add(1)
	}
	return err
}

// Two brokers believe that they lead; the older one, which no lease check stops,
// hands out as fast as it can on every guard. From the guards of the newer one on
// not one of its claims is stored.
func TestNothingOfTheOlderLeaderIsStored(t *testing.T) {
	for _, replicas := range []int{1, 3} {
		t.Run(fmt.Sprintf("replicas=%d", replicas), func(t *testing.T) {
			urls := cluster(t, replicas)
			older := &writer{fence: newFence(believer(t, urls[0], "older", replicas))}
			enough := make(chan struct{})
			reached := sync.OnceFunc(func() { close(enough) })
			var writers sync.WaitGroup
			for k := range wire.Guards {
				writers.Go(func() { older.untilDeposed(t, k, reached) })
			}
			await(t, enough)
			l := older.fence.lease
			if err := l.release(t.Context()); err != nil { // as when it ran out
				t.Fatal(err)
			}
			newer := &writer{fence: newFence(believer(t, urls[len(urls)-1], "newer", replicas))}
			for k := range wire.Guards {
				writers.Go(func() {
					for range 10 {
						if err := newer.claim(t.Context(), k); err != nil {
							t.Errorf("the rightful leader is refused: %v", err)
						}
					}
				})
			}
			writers.Wait()
			checkFenced(t, newer.fence.lease, older)
			t.Logf("%d claims of the older leader, all before the guards of the newer, which stored %d", older.stored.Load(), newer.stored.Load())
		})
	}
}

// crowd is how many claims the older leader stores before it is deposed.
const crowd = 500

// untilDeposed hands out on a guard until it is refused, and then tries again
// and again what must be refused too.
func (w *writer) untilDeposed(t *testing.T, k int, reached func()) {
	var err error
	for err == nil {
		if err = w.claim(t.Context(), k); err == nil && w.stored.Load() >= crowd {
			reached()
		}
	}
	for range 10 {
		if !errors.Is(err, errDeposed) {
			t.Errorf("guard %d: %v, want %v", k, err, errDeposed)
		}
		err = w.claim(t.Context(), k)
	}
}

func await(t *testing.T, c <-chan struct{}) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(time.Minute):
		t.Fatal("waited in vain")
	}
}

// checkFenced reads WORK: no claim of the older leader may lie behind the first
// guard of the newer.
func checkFenced(t *testing.T, newer *lease, older *writer) {
	t.Helper()
	st := newer.b.store
	last, err := st.Range(t.Context(), st.Names.StreamWORK())
	if err != nil {
		t.Fatal(err)
	}
	found := uint64(0)
	for next := uint64(1); next <= last.Last; {
		for m, err := range st.Batch(t.Context(), st.Names.StreamWORK(), "", next, workBatch) {
			if err != nil {
				t.Fatal(err)
			}
			next = m.Seq + 1
			found += fenced(t, m, newer, older.fence.lease.epoch)
		}
	}
	if stored := older.stored.Load(); found < stored {
		t.Errorf("%d claims of the older leader are stored, %d were acknowledged", found, stored)
	}
}

// fenced checks one message, and counts those of the older leader.
func fenced(t *testing.T, m store.Message, newer *lease, old uint64) uint64 {
	t.Helper()
	if _, _, ok := newer.b.cfg.Names.SplitWork(m.Subject); !ok {
		return 0
	}
	var c wire.Claim
	if err := wire.Decode(m.Data, &c); err != nil {
		t.Fatal(err)
	}
	if c.Epoch != old {
		return 0
	}
	if m.Seq >= newer.guards[0] {
		t.Errorf("claim %d of the older leader is stored behind the guards of the newer, from %d on", m.Seq, newer.guards[0])
	}
	return 1
}
