package accounts_test

import (
	"bytes"
	"context"
	"slices"
	"testing"

	"fairlead/agent/engine/mock"
	"fairlead/client"
	"fairlead/internal/recorder"
	"fairlead/internal/store"
	"fairlead/trace"
	"fairlead/wire"
)

// TestOperatorRecords: an operator hears everything that a recording is made of.
func TestOperatorRecords(t *testing.T) {
	r := newRig(t, "prod")
	r.broker()
	r.agent("gpu-1", mock.Config{})
	frontend := r.client("gw-1")
	first, err := frontend.Submit(r.ctx(), client.Request{Class: "default", Body: []byte(`{"stream":true,"max_tokens":3}`)})
	must(t, err)
	_, err = first.Result(r.ctx()) // so that broker and worker are there
	must(t, err)

	nc, _ := r.connect("op-1", "_INBOX.op-1")
	st, err := store.Open(nc, r.names)
	must(t, err)
	ctx, stop := context.WithCancel(r.ctx())
	defer stop()
	var file bytes.Buffer
	ready, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		_, err := recorder.Run(ctx, recorder.Config{Store: st, Out: &file, Rules: wire.Rules{Names: st.Names}, Ready: func() { close(ready) }})
		ended <- err
	}()
	select {
	case <-ready:
	case err := <-ended:
		t.Fatal(err)
	}
	done, err := nc.SubscribeSync(r.names.Done("*"))
	must(t, err)
	must(t, nc.Flush())
	p, err := frontend.Submit(r.ctx(), client.Request{Class: "default", Body: []byte(`{"stream":true,"max_tokens":3}`), InputTokens: 70})
	must(t, err)
	_, err = p.Result(r.ctx())
	must(t, err)
	if _, err := done.NextMsg(patience); err != nil {
		t.Fatal("the operator hears no report: ", err)
	}
	must(t, nc.Flush()) // what came before is with the recorder, too
	stop()
	must(t, <-ended)
	rec, err := trace.ReadRecording(&file)
	must(t, err)
	i := slices.IndexFunc(rec.Requests, func(q trace.Recorded) bool { return q.ID == p.ID }) // the first may be in REQ still
	if i < 0 {
		t.Fatalf("%+v", rec)
	}
	q := &rec.Requests[i]
	if q.Input != 70 || len(q.Attempts) != 1 || q.Attempts[0].Worker != "gpu-1" || q.Attempts[0].HandedNS == 0 || q.Attempts[0].EndNS == 0 {
		t.Errorf("%+v", q)
	}
}
