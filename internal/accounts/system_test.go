package accounts_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"fairlead/agent/engine/mock"
	"fairlead/client"
	"fairlead/wire"
)

// TestWholeSystem: broker, agents and frontends work under the shipped accounts, with
// everything that crosses them.
func TestWholeSystem(t *testing.T) {
	for _, ns := range []string{"", "prod"} {
		t.Run("namespace "+ns, func(t *testing.T) { wholeSystem(t, newRig(t, ns)) })
	}
}

func wholeSystem(t *testing.T, r *rig) {
	r.broker()
	r.agent("gpu-1", mock.Config{})
	r.agent("gpu-2", mock.Config{})
	plain, reader := r.client("gw-1"), r.client("gw-2")

	streamed, err := plain.Submit(r.ctx(), client.Request{Class: "default", Body: []byte(`{"stream":true,"max_tokens":8}`), Worker: "gpu-1"})
	must(t, err)
	chunks := 0
	for _, err := range streamed.Chunks(r.ctx()) {
		must(t, err)
		chunks++
	}
	if chunks < 8 {
		t.Errorf("%d chunks of a stream, want at least 8", chunks)
	}
	pinned, err := plain.Submit(r.ctx(), client.Request{Class: "default", Body: []byte(`{"max_tokens":2}`), Worker: "gpu-2"})
	must(t, err)
	res, err := pinned.Result(r.ctx())
	must(t, err)
	if res.Worker != "gpu-2" || len(res.Body) == 0 {
		t.Errorf("got %+v, want an answer of gpu-2", res)
	}
	_, err = refused(r, plain, client.Request{Class: "default", Body: []byte(`{"max_tokens":2}`), Model: "nobody-has-it", NoQueue: true})
	var e *client.Error
	if !errors.As(err, &e) || e.Reason != wire.QueueFull { // the broker itself speaks to the inbox
		t.Errorf("got %v, want queue_full", err)
	}
	ear, _ := r.connect("gw-2", "_INBOX.gw-2")
	heard, err := ear.SubscribeSync(r.names.Res(0)[:len(r.names.Res(0))-1] + "*")
	must(t, err)
	must(t, ear.Flush())
	stored, err := reader.Submit(r.ctx(), client.Request{Class: "default", Body: []byte(`{"stream":true,"max_tokens":4}`), Stored: true})
	must(t, err)
	_, err = stored.Result(r.ctx())
	must(t, err)
	if _, err := heard.NextMsg(patience); err != nil {
		t.Errorf("stored results are not heard as they come: %v", err)
	}
	again, err := reader.Await(r.ctx(), stored.ID) // from the store
	must(t, err)
	_, err = again.Result(r.ctx())
	must(t, err)
	models, err := plain.Models(r.ctx())
	if err != nil || len(models) != 1 || models[0].Workers != 2 {
		t.Errorf("models %+v, %v", models, err)
	}
	large, err := plain.Submit(r.ctx(), client.Request{Class: "default", Body: fmt.Appendf(nil, `{"max_tokens":2,"prompt":%q}`, strings.Repeat("x", 3<<20))})
	must(t, err)
	_, err = large.Result(r.ctx()) // its body went through the bucket
	must(t, err)
	cancelled(t, r, plain)
}

func refused(r *rig, c *client.Client, q client.Request) (*client.Result, error) {
	p, err := c.Submit(r.ctx(), q)
	if err != nil {
		return nil, err
	}
	return p.Result(r.ctx())
}

// cancelled: a request that runs is cancelled across the accounts.
func cancelled(t *testing.T, r *rig, c *client.Client) {
	t.Helper()
	p, err := c.Submit(r.ctx(), client.Request{Class: "default", Body: []byte(`{"stream":true,"max_tokens":1000000}`)})
	must(t, err)
	for _, err := range p.Chunks(r.ctx()) {
		must(t, err)
		break
	}
	outcome, err := c.Cancel(r.ctx(), p.ID)
	must(t, err)
	if _, err := p.Result(r.ctx()); err == nil || outcome == "" {
		t.Errorf("outcome %q, and the result is no error", outcome)
	}
}

// TestNobodyListens: an agent notices across the accounts that the inbox is gone.
func TestNobodyListens(t *testing.T) {
	r := newRig(t, "")
	r.broker()
	r.agent("gpu-1", mock.Config{})
	watcher := r.client("gw-2")
	nc, _ := r.connect("gw-1", "_INBOX.gw-1")
	c, err := client.New(nc, client.Config{APIPrefix: "fairlead.api"})
	must(t, err)
	p, err := c.Submit(r.ctx(), client.Request{Class: "default", Body: []byte(`{"stream":true,"max_tokens":1000000}`)})
	must(t, err)
	for _, err := range p.Chunks(r.ctx()) {
		must(t, err)
		break
	}
	c.Close()
	nc.Close()
	for {
		s, err := watcher.Status(r.ctx(), p.ID)
		must(t, err)
		if len(s.Requests) == 1 && s.Requests[0].State == wire.StateEnded {
			return
		}
	}
}
