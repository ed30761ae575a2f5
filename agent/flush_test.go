package agent

import (
	"bytes"
	"net"
	"sync/atomic"
	"testing"

	"github.com/nats-io/nats.go"

	"fairlead/agent/engine"
	"fairlead/wire"
)

// tearing dials connections that can be made to swallow what is written, and
// that break as soon as they have swallowed a ping.
type tearing struct{ armed atomic.Bool }

func (d *tearing) Dial(network, address string) (net.Conn, error) {
	c, err := net.Dial(network, address)
	return &torn{Conn: c, dialer: d}, err
}

type torn struct {
	net.Conn
	dialer *tearing
}

func (c *torn) Write(p []byte) (int, error) {
	if !c.dialer.armed.Load() {
		return c.Conn.Write(p)
	}
	if bytes.Contains(p, []byte("PING")) {
		c.dialer.armed.Store(false) // the next connection is sound
		c.Close()
	}
	return len(p), nil
}

// The connection breaks while the agent waits to hear that its final message has
// arrived. The claim must not be forgotten: the message is sent again, and DONE
// follows.
func TestConnectionBreaksUnderAFinal(t *testing.T) {
	w := newWorldWithStreams(t)
	eng := newFake()
	d := &tearing{}
	r := w.start(eng, func(c *Config) { c.Options = append(c.Options, nats.SetCustomDialer(d)) })
	r.ready()
	inbox, results := w.inbox()
	id := w.ask(request{"{}", reply(inbox)})
	seq := r.hand(wire.Claim{ID: id})
	call := receive(t, "the call", eng.calls, nil)
	d.armed.Store(true)
	call.end <- fakeEnd{res: engine.Result{Usage: usage, Body: []byte("{}")}}
	if m, _ := w.next(results); !m.Final {
		t.Errorf("got %+v, want the final message", m)
	}
	if done := r.done(); done.Claim != seq || done.Status != wire.StatusOK {
		t.Errorf("DONE %+v", done)
	}
	r.idle()
	w.noClaims()
}
