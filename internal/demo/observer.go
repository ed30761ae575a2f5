package demo

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"

	"fairlead/internal/store"
	"fairlead/wire"
)

// inboxPrefix is under which the frontends' inboxes lie.
const inboxPrefix = "_INBOX.demo"

// tapBuffer is how many messages may wait for the observer; more than a whole
// run of the built-in trace sends.
const tapBuffer = 1 << 16

// errStalled says that nothing happened for too long.
var errStalled = errors.New("nothing has happened for a long while")

// observer owns the recorder. It hears the frontends by tell, and by a wiretap
// of its own every claim and every result.
type observer struct {
	nc     *nats.Conn
	sub    []*nats.Subscription
	names  wire.Names
	msgs   chan *nats.Msg
	tells  chan func(*Recorder)
	closed chan struct{} // by close: the loop is to end
	ended  chan struct{} // by the loop
	rec    *Recorder
}

// observe connects the wiretap and starts to record. stalled is called once
// when for patience there was no event although requests are open.
func observe(url string, s *Scenario, patience time.Duration, stalled func()) (*observer, error) {
	nc, err := nats.Connect(url, append(store.Reconnect("fairlead demo wiretap"), nats.RetryOnFailedConnect(false))...)
	if err != nil {
		return nil, fmt.Errorf("connect the wiretap: %w", err)
	}
	o := &observer{
		nc: nc, msgs: make(chan *nats.Msg, tapBuffer), tells: make(chan func(*Recorder)),
		closed: make(chan struct{}), ended: make(chan struct{}), rec: NewRecorder(s),
	}
	for _, subject := range []string{"work.*.*", inboxPrefix + ".*"} {
		sub, err := nc.ChanSubscribe(subject, o.msgs)
		if err != nil {
			nc.Close()
			return nil, fmt.Errorf("tap %s: %w", subject, err)
		}
		o.sub = append(o.sub, sub)
	}
	if err := nc.Flush(); err != nil { // the server must know of the tap before anybody speaks
		nc.Close()
		return nil, fmt.Errorf("connect the wiretap: %w", err)
	}
	go o.loop(patience, stalled)
	return o, nil
}

// close ends the observer and waits for it.
func (o *observer) close() {
	close(o.closed)
	<-o.ended
	o.nc.Close()
}

func (o *observer) loop(patience time.Duration, stalled func()) {
	defer close(o.ended)
	silence := time.NewTimer(patience)
	defer silence.Stop()
	for {
		select {
		case m := <-o.msgs:
			o.hear(m)
			silence.Reset(patience)
		case tell := <-o.tells:
			tell(o.rec)
		case <-silence.C:
			if f := o.rec.Figures(); f.Open() > 0 {
				stalled()
			} else {
				silence.Reset(patience)
			}
		case <-o.closed:
			return
		}
	}
}

// hear takes a message of the wiretap.
func (o *observer) hear(m *nats.Msg) {
	if _, _, isClaim := o.names.SplitWork(m.Subject); isClaim {
		var c wire.Claim
		if wire.Decode(m.Data, &c) == nil {
			o.rec.HandedOut(c.ID, time.Now())
		}
		return
	}
	if r, err := wire.ParseResult(wire.Header(m.Header)); err == nil && r.Final {
		o.rec.Final(r.ID)
	}
}

// tell has something recorded. After close it does nothing.
func (o *observer) tell(f func(*Recorder)) {
	select {
	case o.tells <- f:
	case <-o.ended:
	}
}

// errObserverClosed says that the figures are asked for too late.
var errObserverClosed = errors.New("the observer is closed")

// figures is what has happened so far. It fails only after close.
func (o *observer) figures() (Figures, error) {
	answer := make(chan Figures, 1)
	o.tell(func(r *Recorder) { answer <- r.Figures() })
	select {
	case f := <-answer:
		return f, nil
	case <-o.ended:
		return Figures{}, errObserverClosed
	}
}

// flush waits until everything that the server has sent is recorded.
func (o *observer) flush(ctx context.Context) error {
	if err := o.nc.FlushWithContext(ctx); err != nil {
		return fmt.Errorf("read the wiretap to its end: %w", err)
	}
	o.tell(func(*Recorder) {
		for len(o.msgs) > 0 {
			o.hear(<-o.msgs)
		}
	})
	for _, sub := range o.sub {
		if n, err := sub.Dropped(); err != nil || n > 0 {
			return fmt.Errorf("the wiretap on %s missed %d messages, so that the figures would be wrong: %w", sub.Subject, n, errors.Join(err, nats.ErrSlowConsumer))
		}
	}
	return nil
}
