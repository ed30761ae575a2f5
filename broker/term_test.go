package broker

import (
	"errors"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"

	"fairlead/policy"
)

// TestCancelWhileStopping: a leader that is about to stop decides nothing more, and sends
// whoever cancels to the next one.
func TestCancelWhileStopping(t *testing.T) {
	nc, err := nats.Connect(cluster(t, 1)[0])
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	b, err := New(Config{Conn: nc, Log: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	term := newTerm(b, &lease{b: b}, policy.Default())
	defer term.cancel()
	if _, err := nc.Subscribe(b.cfg.Names.CtlCancel(), func(m *nats.Msg) {
		term.open = 1 // a write under way, whose answer comes after the cancel
		term.asks <- func() { term.cancelRequest(m, 7) }
		term.asks <- func() { term.open-- }
		term.wind()
	}); err != nil {
		t.Fatal(err)
	}
	if m, err := nc.Request(b.cfg.Names.CtlCancel(), []byte("7"), time.Minute); !errors.Is(err, nats.ErrNoResponders) {
		t.Errorf("got %v, %v; want %v", m, err, nats.ErrNoResponders)
	}
}

// stuck is a consumer that does not stop before it is let go.
type stuck struct{ letGo, closed chan struct{} }

func (s stuck) Stop()                   { <-s.letGo; close(s.closed) }
func (s stuck) Drain()                  {}
func (s stuck) Closed() <-chan struct{} { return s.closed }

// TestHalt: a consumer that is being made anew keeps nobody from the end of a term.
func TestHalt(t *testing.T) {
	s := stuck{make(chan struct{}), make(chan struct{})}
	halt(time.Millisecond, s)
	select {
	case <-s.closed:
		t.Error("it stopped before it could")
	default:
	}
	close(s.letGo)
	halt(time.Hour)
	await(t, s.closed)
}
