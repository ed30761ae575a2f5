package broker

import (
	"errors"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"fairlead/broker/arbiter"
	"fairlead/wire"
)

// listener hears the workers all the time, also while standing by, so that a new
// leader need not wait for them.
type listener struct {
	b    *Broker
	subs []*nats.Subscription

	mu    sync.Mutex
	since time.Time
	last  map[string]heard // by worker
	swept time.Time        // when the workers that fell silent were last forgotten
	sink  func(arbiter.Event)
}

type heard struct {
	beat wire.Heartbeat
	at   time.Time
}

// stale is how old a heartbeat may be to be told to a new leader.
const stale = 10 * time.Second

func newListener(b *Broker) *listener { return &listener{b: b, last: map[string]heard{}} }

func (l *listener) start() error {
	l.since = time.Now()
	names := l.b.cfg.Names
	beats, err := l.b.cfg.Conn.Subscribe(names.Load("*"), l.onBeat)
	if err != nil {
		return err
	}
	events, err := l.b.cfg.Conn.Subscribe(names.Ev("*"), l.onEvent)
	if err != nil {
		return errors.Join(err, beats.Unsubscribe())
	}
	l.subs = []*nats.Subscription{beats, events}
	return nil
}

func (l *listener) stop() {
	for _, s := range l.subs {
		_ = s.Unsubscribe() // the connection may be gone already, and with it the subscription
	}
}

// listenFor sends what is heard to a term from now on, beginning with the last
// heartbeat of every worker; nil ends that.
func (l *listener) listenFor(sink func(arbiter.Event)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sink = sink
	now := time.Now()
	for name, h := range l.last {
		switch {
		case now.Sub(h.at) > stale:
			delete(l.last, name)
		case sink != nil:
			sink(arbiter.Beat{Heartbeat: h.beat})
		}
	}
}

// heardFor is how long it has been listening.
func (l *listener) heardFor() time.Duration { return time.Since(l.since) }

func (l *listener) onBeat(m *nats.Msg) {
	h, ok := l.readBeat(m)
	if !ok {
		l.b.metrics.unreadable("heartbeat")
		return
	}
	l.mu.Lock()
	l.keep(h, time.Now())
	sink := l.sink
	l.mu.Unlock()
	if sink != nil {
		sink(arbiter.Beat{Heartbeat: h})
	}
}

// readBeat is false for what no agent of ours sends. A worker speaks for itself alone.
func (l *listener) readBeat(m *nats.Msg) (h wire.Heartbeat, ok bool) {
	err := wire.Decode(m.Data, &h)
	return h, err == nil && wire.ValidToken(h.Worker) && m.Subject == l.b.cfg.Names.Load(h.Worker) && h.Check() == nil
}

// keep remembers a heartbeat, and now and then forgets the workers that are not heard
// any more: who may publish heartbeats may make up names.
func (l *listener) keep(h wire.Heartbeat, now time.Time) {
	l.last[h.Worker] = heard{beat: h, at: now}
	if now.Sub(l.swept) < stale {
		return
	}
	l.swept = now
	for name, h := range l.last {
		if now.Sub(h.at) > stale {
			delete(l.last, name)
		}
	}
}

func (l *listener) onEvent(m *nats.Msg) {
	l.mu.Lock()
	sink := l.sink
	l.mu.Unlock()
	if sink == nil {
		return
	}
	var e wire.Event
	if err := wire.Decode(m.Data, &e); err != nil || m.Subject != l.b.cfg.Names.Ev(e.Worker) {
		l.b.metrics.unreadable("event")
		return
	}
	sink(arbiter.Progress{Event: e})
}
