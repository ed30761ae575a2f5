package client

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"fairlead/internal/store"
	"fairlead/wire"
)

// When this process is too slow even to sort its messages, the connection drops
// some. What was dropped may have been the last message of a request, so that
// no gap would ever show.
func TestDroppedMessagesAreFound(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	srv, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true, StoreDir: t.TempDir(), NoLog: true, NoSigs: true})
	must(t, err)
	srv.Start()
	defer func() { srv.Shutdown(); srv.WaitForShutdown() }()
	if !srv.ReadyForConnections(time.Minute) {
		t.Fatal("server not ready")
	}
	dropped := make(chan struct{})
	var once sync.Once
	c, err := Connect(srv.ClientURL(), Config{Options: []nats.Option{nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {
		once.Do(func() { close(dropped) })
	})}})
	must(t, err)
	defer c.Close()
	must(t, c.store.Ensure(ctx, store.Options{Memory: true}))
	p, err := c.Submit(ctx, Request{Class: "a", Body: []byte("{}")})
	must(t, err)

	c.mu.Lock() // the dispatcher waits for it
	worker, err := nats.Connect(srv.ClientURL())
	must(t, err)
	defer worker.Close()
	o := wire.Origin{ID: p.ID, Attempt: 1, Claim: 1, Worker: "w"}
	for i := range backlog + 10 {
		must(t, worker.PublishMsg(&nats.Msg{Subject: p.subject, Header: o.Chunk(i), Data: []byte("x")}))
	}
	select {
	case <-dropped:
	case <-ctx.Done():
		t.Fatal("nothing was dropped")
	}
	c.mu.Unlock()

	_, err = p.Result(ctx)
	var e *Error
	if !errors.As(err, &e) || e.Reason != wire.ResultLost || !strings.Contains(e.Detail, "faster") {
		t.Errorf("got %v, want result_lost for what was dropped", err)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
