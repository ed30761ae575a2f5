package client

import (
	"time"

	"github.com/nats-io/nats.go"

	"fairlead/wire"
)

// receive takes a message from the dispatcher.
func (p *Pending) receive(m *nats.Msg) {
	rm, err := wire.ParseResult(m.Header)
	if err != nil {
		return // not a worker's: anybody may write to a subject that he knows
	}
	p.mu.Lock()
	if p.ID == 0 || rm.ID == p.ID {
		p.heard = rm.ID
		p.quiet, p.asked = time.Now(), 0
		p.asm.add(rm, payload{m.Data, wire.First(m.Header, wire.HeaderContentType)})
	}
	if len(p.asm.held) > maxHeld {
		p.asm.held, p.missed = nil, true // its reader is away; the store has them
	}
	ended := p.asm.ended()
	p.mu.Unlock()
	if ended {
		p.release()
	}
	p.signal()
}

// maxHeld is how many messages of a stored result wait for its reader.
const maxHeld = 4096

// fail ends the request on this side, unless it has ended.
func (p *Pending) fail(err error) {
	p.mu.Lock()
	p.asm.fail(err)
	p.mu.Unlock()
	p.release()
	p.signal()
}

func (p *Pending) signal() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// storedGrace is the least time to read a stored result in.
const storedGrace = 30 * time.Second

// release gives back what an open request holds. It may be called again.
func (p *Pending) release() {
	p.c.forget(p)
	p.mu.Lock()
	sub, timer := p.sub, p.timer
	p.sub, p.timer = nil, nil
	gaveUp := p.asm.gaveUp && !p.stored
	useless := ""
	if p.asm.useless() {
		useless, p.body = p.body, ""
	}
	p.mu.Unlock()
	p.c.drop(useless)
	if timer != nil {
		timer.Stop()
	}
	if sub != nil {
		_ = sub.Unsubscribe() // fails only when the connection is gone, and the subscription with it
		if gaveUp {
			p.c.cancelUnheard(p.ID)
		}
	}
}

// subscribed keeps the subscription, unless the request has ended meanwhile.
func (p *Pending) subscribed(sub *nats.Subscription) {
	p.mu.Lock()
	p.sub = sub
	p.armLocked()
	ended := p.asm.ended()
	p.mu.Unlock()
	if ended {
		p.release()
	}
}

// receipt makes the request known by its id.
func (p *Pending) receipt(id uint64, until time.Time) {
	p.mu.Lock()
	p.ID, p.asm.id, p.until = id, id, until
	if p.sub != nil {
		p.armLocked()
	}
	doubted := p.doubt != trusted
	p.mu.Unlock()
	if doubted {
		p.c.kick()
	}
}

// armLocked sets the clock of a request that is listened for. A stored one may
// have been answered long ago: it is read first.
func (p *Pending) armLocked() {
	if p.until.IsZero() {
		return
	}
	left := time.Until(p.until)
	if p.stored {
		left = max(left, storedGrace)
	}
	p.timer = time.AfterFunc(left, p.expire)
}

// expire ends a request that nobody ended at its deadline.
func (p *Pending) expire() {
	e := newError(wire.DeadlineExceeded, "its deadline passed %v ago and no broker said so", p.c.cfg.DeadlineGrace)
	e.ID = p.ID
	p.mu.Lock()
	p.asm.giveUp(e)
	p.mu.Unlock()
	p.release()
	p.signal()
}

// checkDropped ends a request of which the connection dropped a message.
func (p *Pending) checkDropped() {
	p.mu.Lock()
	sub := p.sub
	p.mu.Unlock()
	if sub == nil {
		return
	}
	if n, err := sub.Dropped(); err == nil && n > 0 {
		p.overrun(n)
	}
}

func (p *Pending) overrun(n int) {
	p.mu.Lock()
	if p.stored {
		p.missed = true
	} else {
		e := newError(wire.ResultLost, "%d messages came faster than this process could take them", n)
		e.ID = p.ID
		p.asm.giveUp(e)
	}
	p.mu.Unlock()
	if !p.stored {
		p.release()
	}
	p.signal()
}
