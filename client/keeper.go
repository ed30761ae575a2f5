package client

import (
	"context"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"

	"fairlead/wire"
)

// doubt is how far this side trusts that a request goes on.
type doubt uint8

const (
	trusted   doubt = iota // the leader would tell, and we would hear
	doubted                // messages may have passed by: ask the leader
	suspected              // the leader says that it has ended: its result may still be under way
)

const (
	askAgain  = time.Second // when no leader answered
	askAtOnce = 512         // ids in one question
)

// keep asks the leader about requests whose messages may have been missed: all
// of them after a reconnect, one that is awaited by its id alone, and those of
// which nothing has been heard for long. A broken way between two servers loses
// messages without anybody's connection being lost.
func (c *Client) keep() {
	status := c.status
	look := time.NewTicker(max(c.cfg.Silence/silenceLooks, time.Millisecond))
	defer look.Stop()
	timer := time.NewTimer(0)
	defer timer.Stop()
	<-timer.C
	for {
		select {
		case s, ok := <-status:
			if !ok {
				status = nil
			} else {
				c.changed(s)
			}
		case <-c.doubts:
		case <-timer.C:
		case now := <-look.C:
			if !c.doubtSilent(now) {
				continue
			}
		case <-c.ctx.Done():
			return
		}
		if wait := c.audit(); wait > 0 {
			timer.Reset(wait)
		}
	}
}

// changed takes a change of the connection's state.
func (c *Client) changed(s nats.Status) {
	for _, p := range c.pending() {
		if s == nats.CLOSED {
			p.fail(fmt.Errorf("%w: %w", ErrClosed, nats.ErrConnectionClosed))
		} else {
			p.reconnected()
		}
	}
}

// silenceLooks is how often in Config.Silence the requests are looked through.
const silenceLooks = 5

// doubtSilent doubts the requests that have been silent for too long, and
// reports whether there are any.
func (c *Client) doubtSilent(now time.Time) bool {
	found := false
	for _, p := range c.pending() {
		found = p.doubtSilence(now, c.cfg.Silence) || found
	}
	return found
}

// maxSilence bounds how many times Config.Silence pass until the next question.
const maxSilence = 8

func (p *Pending) doubtSilence(now time.Time, silence time.Duration) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	wait := silence * time.Duration(min(1<<min(p.asked, 8), maxSilence))
	if p.ID == 0 || p.doubt != trusted || now.Sub(p.quiet) < wait {
		return false
	}
	p.doubt, p.missed = doubted, p.stored
	p.quiet = now
	p.asked++
	p.signal()
	return true
}

func (c *Client) kick() {
	select {
	case c.doubts <- struct{}{}:
	default:
	}
}

// audit asks about every doubted request once, and says when to ask again; 0 is
// not at all.
func (c *Client) audit() (again time.Duration) {
	var ids []uint64
	open := make(map[uint64][]*Pending) // an id may be listened for twice: by inbox and by id
	for _, p := range c.pending() {
		if id := p.inDoubt(); id != 0 {
			ids, open[id] = append(ids, id), append(open[id], p)
		}
	}
	for len(ids) > 0 {
		n := min(len(ids), askAtOnce)
		answer, err := c.askOnce(ids[:n])
		if err != nil || !answer.Recovered {
			return askAgain
		}
		for _, s := range answer.Requests {
			for _, p := range open[s.ID] {
				if p.judge(s.State, c.cfg.LostGrace) {
					again = c.cfg.LostGrace
				}
			}
		}
		ids = ids[n:]
	}
	return again
}

func (c *Client) askOnce(ids []uint64) (wire.BrokerStatus, error) {
	ctx, cancel := context.WithTimeout(c.ctx, ackWait)
	defer cancel()
	var answer wire.BrokerStatus
	err := c.request(ctx, c.names.CtlStatus(), wire.StatusRequest{IDs: ids}, &answer)
	return answer, err
}

// reconnected marks what may have been missed.
func (p *Pending) reconnected() {
	p.mu.Lock()
	p.doubt, p.missed = doubted, p.stored
	p.mu.Unlock()
	p.signal()
}

// inDoubt is the id to ask the leader about, 0 none.
func (p *Pending) inDoubt() uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.doubt == trusted || p.asm.ended() {
		return 0
	}
	return p.ID
}

// judge takes the leader's word. A request that has ended is given the grace
// for its result to arrive, and asked about once more.
func (p *Pending) judge(s wire.RequestState, grace time.Duration) (askAgain bool) {
	p.mu.Lock()
	if s != wire.StateEnded {
		p.doubt = trusted
		p.mu.Unlock()
		return false
	}
	if p.doubt == doubted {
		p.doubt, p.since = suspected, time.Now()
	}
	lost := time.Since(p.since) >= grace
	p.mu.Unlock()
	if lost {
		p.lose()
	}
	return !lost
}

// lose ends a request whose result passed by; a stored one is read until the
// store has said often enough that there is nothing.
func (p *Pending) lose() {
	if p.stored {
		p.mu.Lock()
		p.late, p.missed, p.doubt = true, true, trusted
		p.mu.Unlock()
		p.signal()
		return
	}
	e := newError(wire.ResultLost, "it has ended while this client could not hear; ask with Stored to be able to read a result later")
	e.ID = p.ID
	p.fail(e)
}
