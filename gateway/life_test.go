package gateway_test

import (
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"fairlead/agent/engine/mock"
	"fairlead/gateway"
)

func hanging() mock.Config {
	cfg := quick()
	cfg.Slots, cfg.Failures = 1, []mock.Failure{{Kind: mock.Hang, Every: 1}}
	return cfg
}

// Whoever hangs up, in the queue or in the engine, streaming or not, has his
// request cancelled.
func TestHangUp(t *testing.T) {
	t.Parallel()
	r := newRig(t, twoClasses)
	r.agent("w1", hanging())
	g := r.gateway(gateway.Config{Class: "regular", HeadersAfter: 10 * time.Millisecond})
	for name, body := range map[string]string{"stream": streaming(hello), "plain": hello} {
		var hangUps []func()
		for range 3 {
			hangUps = append(hangUps, g.raw(body))
		}
		r.until(name+": one runs and two wait", func() bool {
			running, queued := r.load()
			return running == 1 && queued == 2
		})
		for _, hangUp := range hangUps {
			hangUp()
		}
		r.until(name+": nothing is left", func() bool {
			running, queued := r.load()
			return running == 0 && queued == 0
		})
	}
}

// load is how many requests run and how many wait.
func (r *rig) load() (running, queued int) {
	s, err := r.ask.Status(r.ctx)
	if err != nil {
		return -1, -1
	}
	for i := range s.Classes {
		running += s.Classes[i].Running
		queued += s.Classes[i].Queued
	}
	return running, queued
}

// raw asks on a connection of its own, and reads nothing.
func (s *served) raw(body string) (hangUp func()) {
	s.t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	must(s.t, err)
	_, err = io.WriteString(conn, "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: "+strconv.Itoa(len(body))+"\r\n\r\n"+body)
	must(s.t, err)
	return func() { _ = conn.Close() }
}

// A drain finishes what is under way, and an abort tells its clients.
func TestDrain(t *testing.T) {
	t.Parallel()
	r := newRig(t, twoClasses)
	cfg := quick()
	cfg.TokenTime = 20 * time.Millisecond
	r.agent("w1", cfg)
	g := r.gateway(gateway.Config{Class: "regular", HeadersAfter: time.Millisecond})
	under := g.send(http.MethodPost, "/v1/chat/completions", strings.NewReader(streaming(strings.Replace(hello, ":4", ":20", 1))))
	must(t, g.Ready())
	g.stop()
	body, err := io.ReadAll(under.Body)
	must(t, err)
	if lastData(string(body)) != "[DONE]" {
		t.Errorf("a stream in a drain ends with %q", lastData(string(body)))
	}
	<-g.ended
	if g.Ready() == nil {
		t.Error("a drained gateway is ready")
	}
}

func TestAbort(t *testing.T) {
	t.Parallel()
	r := newRig(t, twoClasses)
	r.agent("w1", hanging())
	g := r.gateway(gateway.Config{Class: "regular", HeadersAfter: time.Millisecond})
	open := g.send(http.MethodPost, "/v1/chat/completions", strings.NewReader(streaming(hello)))
	plain := make(chan reply, 1)
	go func() { plain <- g.do(http.MethodPost, "/v1/chat/completions", hello) }()
	r.until("both are asked", func() bool {
		running, queued := r.load()
		return running == 1 && queued == 1
	})
	g.stop()
	g.abort()
	body, err := io.ReadAll(open.Body)
	must(t, err)
	if !strings.Contains(lastData(string(body)), `"code":"shutting_down"`) {
		t.Errorf("a stream that is cut off: %q", body)
	}
	if got := <-plain; got.status != 503 || got.errorOf(t).Code != "shutting_down" {
		t.Errorf("a plain request that is cut off: %+v", got)
	}
	<-g.ended
	r.until("nothing is left", func() bool {
		running, queued := r.load()
		return running == 0 && queued == 0
	})
}

// A client that sends its body too slowly is told so; one that reads its stream
// too slowly is cut off and its request cancelled.
func TestSlowClients(t *testing.T) {
	t.Parallel()
	r := newRig(t, twoClasses)
	cfg := quick()
	cfg.TokenTime, cfg.Slots = 100*time.Microsecond, 1
	r.agent("w1", cfg)
	g := r.gateway(gateway.Config{Class: "regular", BodyTimeout: 200 * time.Millisecond, StreamBuffer: 64 << 10})
	conn, err := net.Dial("tcp", strings.TrimPrefix(g.url, "http://"))
	must(t, err)
	defer conn.Close()
	_, err = io.WriteString(conn, "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n{")
	must(t, err)
	said, err := io.ReadAll(conn)
	must(t, err)
	if !strings.HasPrefix(string(said), "HTTP/1.1 408") || !strings.Contains(string(said), "body_timeout") {
		t.Errorf("a slow body: %q", said)
	}

	hangUp := g.raw(streaming(strings.Replace(hello, ":4", ":1000000", 1)))
	defer hangUp()
	r.until("it runs", func() bool { running, _ := r.load(); return running == 1 })
	r.until("it is cancelled", func() bool { running, _ := r.load(); return running == 0 })
}

// A body that nobody wants is not waited for longer than one that is read.
func TestBodyThatNeverComes(t *testing.T) {
	t.Parallel()
	r := newRig(t, twoClasses)
	g := r.gateway(gateway.Config{Class: "regular", BodyTimeout: 200 * time.Millisecond, Keys: parseKeys(t, `keys: [{name: a, key: sk-a-secret}]`)})
	for line, want := range map[string]string{
		"POST /v1/chat/completions": "HTTP/1.1 401",
		"GET /v1/models":            "HTTP/1.1 401",
		"POST //v1":                 "HTTP/1.1 307",
		"OPTIONS *":                 "HTTP/1.1 200",
	} {
		conn, err := net.Dial("tcp", strings.TrimPrefix(g.url, "http://"))
		must(t, err)
		must(t, conn.SetDeadline(time.Now().Add(patience)))
		_, err = io.WriteString(conn, line+" HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n")
		must(t, err)
		said, err := io.ReadAll(conn)
		if err != nil || !strings.HasPrefix(string(said), want) {
			t.Errorf("%s: %q, %v; want %s and the end of the connection", line, said, err, want)
		}
		must(t, conn.Close())
	}
}
