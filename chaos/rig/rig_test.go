package rig

import (
	"io"
	"net"
	"testing"
	"time"
)

// echo answers with what it is sent, until the test ends.
func echo(t *testing.T) string {
	t.Helper()
	l, err := listen()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				_, _ = io.Copy(c, c)
			}()
		}
	}()
	return l.Addr().String()
}

func through(t *testing.T) (*proxy, net.Conn) {
	t.Helper()
	p, err := newProxy("127.0.0.1:1", echo(t)) // the first target is dead
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.close)
	c, err := net.Dial("tcp", p.addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	say(t, c, "a")
	hear(t, c, "a")
	return p, c
}

func say(t *testing.T, c net.Conn, text string) {
	t.Helper()
	if _, err := c.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
}

func hear(t *testing.T, c net.Conn, text string) {
	t.Helper()
	if err := c.SetReadDeadline(time.Now().Add(30 * time.Second)); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, len(text))
	if _, err := io.ReadFull(c, buf); err != nil || string(buf) != text {
		t.Fatalf("heard %q, %v, want %q", buf, err, text)
	}
}

func TestCutBreaksConnections(t *testing.T) {
	p, c := through(t)
	mend := sever(Cut, p)
	if _, err := c.Read(make([]byte, 1)); err == nil {
		t.Error("the connection survives a cut")
	}
	c2, err := net.Dial("tcp", p.addr())
	if err == nil {
		if _, err = c2.Read(make([]byte, 1)); err == nil {
			t.Error("a new connection passes a cut")
		}
		c2.Close()
	}
	mend()
	c3, err := net.Dial("tcp", p.addr())
	if err != nil {
		t.Fatal(err)
	}
	defer c3.Close()
	say(t, c3, "b")
	hear(t, c3, "b")
}

func TestHoleKeepsConnections(t *testing.T) {
	p, c := through(t)
	mend := sever(Hole, p)
	say(t, c, "late")
	if err := c.SetReadDeadline(time.Now().Add(50 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if n, err := c.Read(make([]byte, 1)); err == nil {
		t.Errorf("%d bytes pass through a hole", n)
	}
	mend()
	hear(t, c, "late")
}

func TestNodeArguments(t *testing.T) {
	want := Node{Name: "n1", Listen: "127.0.0.1:1", Mesh: "127.0.0.1:2", Routes: []string{"127.0.0.1:3", "127.0.0.1:4"}, Store: "/s"}
	got, err := ParseNode(want.Args()[1:])
	if err != nil || got.Name != want.Name || got.Store != want.Store || len(got.Routes) != 2 || got.Routes[1] != want.Routes[1] {
		t.Errorf("read back %+v, %v", got, err)
	}
	if _, err := ParseNode(want.Args()); err == nil {
		t.Error("too many arguments are taken")
	}
	if o, err := want.options(); err != nil || o.Cluster.PoolSize != -1 || len(o.Routes) != 2 {
		t.Errorf("options %+v, %v", o, err)
	}
}

func TestProcessLifecycle(t *testing.T) {
	p := newProcess(t.TempDir(), "sleeper", "sleep")
	if err := p.Start("600"); err != nil {
		t.Fatal(err)
	}
	if err := p.Start("600"); err == nil {
		t.Error("a second one starts beside the first")
	}
	p.Freeze()
	p.Thaw()
	if !p.Running() {
		t.Error("it does not run")
	}
	if code, err := p.Stop(time.Minute); err != nil || code != -1 {
		t.Errorf("stopped with %d, %v; want a signal's -1", code, err)
	}
	if err := p.Start("600"); err != nil {
		t.Fatal(err)
	}
	p.Kill()
	if p.Running() {
		t.Error("it survives a kill")
	}
}
