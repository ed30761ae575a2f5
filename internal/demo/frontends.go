package demo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"fairlead/client"
)

// frontends are the clients that ask, each on a connection of its own.
type frontends struct {
	clients []*client.Client
	obs     *observer
	fail    func(error) // takes what keeps a request from being asked
	acked   sync.WaitGroup
	told    sync.WaitGroup
}

func connect(n int, url string, obs *observer, fail func(error)) (*frontends, error) {
	f := &frontends{obs: obs, fail: fail}
	for i := range n {
		c, err := client.Connect(url, client.Config{Options: []nats.Option{
			nats.CustomInboxPrefix(inboxPrefix), nats.Name(fmt.Sprintf("fairlead demo frontend %d", i+1)),
		}})
		if err != nil {
			f.close()
			return nil, err
		}
		f.clients = append(f.clients, c)
	}
	return f, nil
}

func (f *frontends) close() {
	for _, c := range f.clients {
		c.Close()
	}
}

// ask asks everything at its time, and returns when every request is
// acknowledged or ctx has ended. The outcomes follow: see wait.
func (f *frontends) ask(ctx context.Context, requests []Request) {
	began := time.Now()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for i := range requests {
		r := &requests[i]
		timer.Reset(time.Until(began.Add(r.At)))
		select {
		case <-timer.C:
		case <-ctx.Done():
			f.acked.Wait()
			return
		}
		f.acked.Add(1)
		f.told.Go(func() { f.one(ctx, r) })
	}
	f.acked.Wait()
}

// wait returns when every request has its outcome, or ctx has ended.
func (f *frontends) wait() { f.told.Wait() }

// one is the life of one request.
func (f *frontends) one(ctx context.Context, r *Request) {
	p, err := f.submit(ctx, r)
	f.acked.Done()
	if err != nil {
		if ctx.Err() == nil {
			f.fail(fmt.Errorf("ask a request of class %s: %w", r.Name, err))
		}
		return
	}
	defer p.Close()
	started := false
	for _, err := range p.Chunks(ctx) {
		if err == nil && !started {
			started = true
			at := time.Now()
			f.obs.tell(func(rec *Recorder) { rec.FirstChunk(p.ID, at) })
		}
		if err != nil {
			f.failed(p.ID, err)
			return
		}
	}
	f.obs.tell(func(rec *Recorder) { rec.Ended(p.ID, true) })
}

// failed records a failure that the client was told of; anything else, such as
// the end of ctx, is no outcome.
func (f *frontends) failed(id uint64, err error) {
	if told := (*client.Error)(nil); errors.As(err, &told) {
		f.obs.tell(func(rec *Recorder) { rec.Ended(id, false) })
	}
}

func (f *frontends) submit(ctx context.Context, r *Request) (*client.Pending, error) {
	body, err := json.Marshal(map[string]any{
		"model": model, "stream": true, "max_tokens": r.Output,
		"messages": []map[string]string{{"role": "user", "content": fmt.Sprintf("(a recorded prompt of %d tokens)", r.Input)}},
	})
	if err != nil {
		return nil, fmt.Errorf("encode: %w", err)
	}
	f.obs.tell((*Recorder).Asked)
	asked := time.Now()
	p, err := f.clients[r.Frontend].Submit(ctx, client.Request{
		Class: r.Name, Body: body, Model: model, InputTokens: r.Input, CachedTokens: r.Cached, MaxOutputTokens: r.Output,
	})
	if err != nil {
		return nil, err
	}
	f.obs.tell(func(rec *Recorder) { rec.Acknowledged(p.ID, r, asked) })
	return p, nil
}
