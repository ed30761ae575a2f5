package rig

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"time"
)

// link is how a proxy treats what passes through it.
type link uint8

const (
	linkUp   link = iota
	linkCut       // connections break, new ones are refused
	linkHole      // nothing passes; connections stay open, and go on when it is over
)

// proxy stands between a process and the servers that it connects to, so that
// the way between them can break while both live.
type proxy struct {
	listener net.Listener
	targets  []string // tried in turn
	wg       sync.WaitGroup

	mu     sync.Mutex // guards what follows
	state  link
	change chan struct{} // closed and replaced whenever the state changes
	conns  map[net.Conn]struct{}
	turn   int
	closed bool
}

func newProxy(targets ...string) (*proxy, error) {
	l, err := listen()
	if err != nil {
		return nil, err
	}
	p := &proxy{listener: l, targets: targets, change: make(chan struct{}), conns: map[net.Conn]struct{}{}}
	p.wg.Go(p.accept)
	return p, nil
}

func (p *proxy) addr() string { return p.listener.Addr().String() }

// set changes the state; a cut breaks every connection.
func (p *proxy) set(s link) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.state = s
	close(p.change)
	p.change = make(chan struct{})
	if s == linkCut {
		p.breakLocked()
	}
}

func (p *proxy) breakLocked() {
	for c := range p.conns {
		end(c)
	}
}

// close breaks everything and waits for it.
func (p *proxy) close() {
	p.mu.Lock()
	p.closed = true
	p.state = linkCut
	close(p.change)
	p.change = make(chan struct{})
	p.breakLocked()
	p.mu.Unlock()
	end(p.listener)
	p.wg.Wait()
}

func (p *proxy) accept() {
	for {
		c, err := p.listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err == nil {
			p.wg.Go(func() { p.serve(c) })
		}
	}
}

// add registers a connection; it fails while the link is cut.
func (p *proxy) add(c net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || p.state == linkCut {
		return false
	}
	p.conns[c] = struct{}{}
	return true
}

func (p *proxy) drop(c net.Conn) {
	p.mu.Lock()
	delete(p.conns, c)
	p.mu.Unlock()
	end(c)
}

// end closes what may be closed already.
func end(c io.Closer) { _ = c.Close() }

func (p *proxy) serve(c net.Conn) {
	defer p.drop(c)
	if !p.add(c) || !p.open() {
		return
	}
	up, err := p.dial()
	if err != nil {
		return
	}
	defer p.drop(up)
	if !p.add(up) {
		return
	}
	var back sync.WaitGroup
	back.Go(func() { p.copy(c, up) })
	p.copy(up, c)
	back.Wait()
}

// dialTimeout is short: a frozen server still accepts, a dead one refuses at once.
const dialTimeout = 2 * time.Second

func (p *proxy) dial() (net.Conn, error) {
	p.mu.Lock()
	first := p.turn
	p.turn++
	p.mu.Unlock()
	var last error
	for i := range p.targets {
		d := net.Dialer{Timeout: dialTimeout}
		c, err := d.DialContext(context.Background(), "tcp", p.targets[(first+i)%len(p.targets)])
		if err == nil {
			return c, nil
		}
		last = err
	}
	return nil, last
}

// open waits until the link is no hole; it is false when it is cut.
func (p *proxy) open() bool {
	for {
		p.mu.Lock()
		state, change := p.state, p.change
		p.mu.Unlock()
		if state != linkHole {
			return state == linkUp
		}
		<-change
	}
}

// copy passes bytes on until one side ends, which ends the other.
func (p *proxy) copy(to, from net.Conn) {
	defer end(to)
	defer end(from)
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 {
			if !p.open() {
				return
			}
			if _, werr := to.Write(buf[:n]); werr != nil {
				return
			}
		}
		if err != nil {
			if !errors.Is(err, io.EOF) {
				return
			}
			p.open() // an end does not pass through a hole either
			return
		}
	}
}
