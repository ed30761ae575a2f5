package agent

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"fairlead/agent/engine"
	"fairlead/internal/store"
	"fairlead/wire"
)

// job executes one claim in a goroutine of its own. Of the loop it uses only
// what never changes, and reports back over a channel.
type job struct {
	l      *loop
	entry  *entry // only to name it in reports
	claim  wire.Claim
	seq    uint64
	taken  time.Time
	ctx    context.Context // ends with the agent's life, or when cancelled
	cancel context.CancelCauseFunc

	prefill time.Duration          // how long it should take; 0 unknown
	called  time.Time              // the engine
	ack     atomic.Pointer[string] // newest reply subject of the claim's delivery
	sent    atomic.Int64           // chunks
	first   time.Time              // of the first chunk; zero before
	hearing hearing
	stored  string // body in the bucket, to be removed in the end; "" none
}

func (l *loop) newJob(e *entry, reply string) *job {
	j := &job{l: l, entry: e, claim: e.claim, seq: e.seq, taken: e.taken}
	j.ctx, j.cancel = context.WithCancelCause(l.life)
	j.ack.Store(&reply)
	return j
}

// report is what a job tells the loop.
type report struct {
	entry *entry
	kind  reportKind
	told  bool          // of prefilled: the engine itself says so
	took  time.Duration // of first: since the engine was called
	hold  time.Duration // of released: the engine is busy for so long
	sick  bool          // of released: the engine could not be reached
	done  *wire.Done    // of ended
	ok    bool          // of ended: DONE is stored and the acknowledgement confirmed
}

type reportKind int

const (
	started   reportKind = iota // the engine has it
	prefilled                   // its prompt has been computed; only of an answer that does not stream
	first                       // its first token goes out
	released                    // the engine is done with it
	ended                       // the job ends
)

func (j *job) report(r report) {
	r.entry = j.entry
	select {
	case j.l.reports <- r:
	case <-j.l.closed:
	}
}

// run is the job's life.
func (j *job) run() { j.conclude(j.execute()) }

// conclude settles the claim, which frees its slot at once, and reports.
func (j *job) conclude(o outcome) {
	defer j.cancel(nil)
	done := j.done(o)
	j.report(report{kind: released, hold: o.retryAfter, sick: o.sick})
	ok := j.settle(o, done)
	if ok {
		j.dropBody(o)
	}
	j.report(report{kind: ended, done: done, ok: ok})
}

// execute fetches the request and runs it.
func (j *job) execute() outcome {
	msg, err := j.fetch()
	switch {
	case errors.Is(err, store.ErrNotFound):
		return j.gone()
	case err != nil:
		return j.broken(err)
	}
	rules := wire.Rules{Names: j.l.st.Names, ReplyPrefixes: j.l.cfg.ReplyPrefixes}
	req, refusal := rules.ParseRequest(wire.Message{Subject: msg.Subject, Header: wire.Header(msg.Header), Size: len(msg.Data)})
	to := j.sink(req.ReplyTo)
	if refusal != nil {
		return failure(to, wire.Failure{Reason: refusal.Reason, Detail: refusal.Detail})
	}
	body, refused, err := j.body(&req, msg.Data)
	switch {
	case err != nil:
		return j.ending(to, err)
	case refused != nil:
		return failure(to, *refused)
	}
	opts, err := engine.ReadOptions(body)
	if err != nil {
		return failure(to, wire.Failure{Reason: wire.InvalidRequest, Detail: err.Error()})
	}
	o := j.call(to, j.engineRequest(&req, body, opts.Stream))
	if o.status == wire.StatusReturned && j.sent.Load() > 0 && req.Retry != wire.RetryAlways {
		// The client has seen a part of this attempt, and must see no other.
		return failure(to, wire.Failure{Reason: wire.WorkerLost, Detail: "the worker left in the middle of its answer"})
	}
	return o
}

// fetch reads the request, for as long as it takes. The deadline does not end
// it: the client's reply subject is in the request, and it must be told.
func (j *job) fetch() (store.Message, error) {
	var msg store.Message
	gone := false
	err := insist(j.ctx, func(ctx context.Context) (err error) {
		msg, err = j.l.st.Get(ctx, j.l.st.Names.StreamREQ(), j.claim.ID)
		if gone = errors.Is(err, store.ErrNotFound); gone {
			return nil
		}
		return err
	}, j.l.complain("read a request"))
	if gone {
		return msg, store.ErrNotFound
	}
	return msg, err
}

// gone is a claim whose request somebody has finished: nobody is to be told.
func (j *job) gone() outcome {
	o := outcome{status: wire.StatusGone}
	if d, has := j.deadline(); has && !time.Now().Before(d) {
		o.reason = wire.DeadlineExceeded
	}
	return o
}

// deadline is when the request's time to live ends, by this machine's clock.
func (j *job) deadline() (time.Time, bool) {
	return j.taken.Add(time.Duration(j.claim.RemainingMS) * time.Millisecond), j.claim.RemainingMS != 0
}

func (j *job) engineRequest(req *wire.Request, body []byte, stream bool) engine.Request {
	r := engine.Request{
		ID: j.claim.ID, Attempt: int(j.claim.Attempt), Path: req.Path, Model: req.Model, Body: body, Stream: stream,
		InputTokens: int64(req.Input), CachedTokens: int64(req.Cached), MaxOutputTokens: int64(req.MaxOutput),
	}
	if !stream { // else the first token tells
		r.Prefilled = func() { j.report(report{kind: prefilled, told: true}) }
	}
	if r.Model == "" {
		r.Model = j.claim.Model
	}
	if j.l.cfg.Ranks > 1 && j.claim.Rank >= 0 {
		r.Rank = &j.claim.Rank
	}
	if req.Traceparent != "" {
		r.Header = http.Header{"Traceparent": {req.Traceparent}}
	}
	return r
}

// call runs the engine and passes its chunks on.
func (j *job) call(to sink, req engine.Request) outcome {
	ctx, end, release := j.bounded()
	defer release()
	if ctx.Err() != nil {
		return j.ending(to, context.Cause(ctx))
	}
	j.report(report{kind: started})
	j.called = time.Now()
	var watcher sync.WaitGroup
	watcher.Go(func() { j.watch(ctx, end, to, req.Stream) })
	res, err := j.l.cfg.Engine.Run(ctx, req, func(data []byte) error { return j.emit(ctx, to, data) })
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx) // whatever the engine made of it
	}
	end(nil)
	watcher.Wait()
	if err != nil {
		o := j.ending(to, err)
		o.usage = j.usage(res)
		return o
	}
	if j.first.IsZero() {
		j.first = j.called.Add(res.FirstToken)
	}
	return outcome{status: wire.StatusOK, to: to, usage: j.usage(res), body: res.Body, contentType: res.ContentType}
}

// bounded is the context of an engine call, how to end it with a cause, and how
// to let go of it.
func (j *job) bounded() (ctx context.Context, end context.CancelCauseFunc, release func()) {
	limit := j.l.cfg.AttemptTimeout
	until, err := time.Now().Add(limit), fmt.Errorf("the engine did not end within the limit of %s for an attempt", limit)
	if d, has := j.deadline(); has && d.Before(until) {
		until, err = d, errDeadline
	}
	outer, stop := context.WithDeadlineCause(j.ctx, until, err)
	ctx, end = context.WithCancelCause(outer)
	return ctx, end, func() { end(nil); stop() }
}

// emit sends one chunk.
func (j *job) emit(ctx context.Context, to sink, data []byte) error {
	now := time.Now()
	if j.first.IsZero() {
		j.first = now
		j.report(report{kind: first, took: now.Sub(j.called)})
	}
	index := int(j.sent.Load())
	if err := to.chunk(ctx, index, j.origin().Chunk(index), data); err != nil {
		return err
	}
	j.sent.Add(1)
	if j.hearing.silent(now, j.l.cfg.ListenGrace) {
		return errUnheard
	}
	return nil
}

func (j *job) origin() wire.Origin {
	return wire.Origin{ID: j.claim.ID, Attempt: j.claim.Attempt, Claim: j.seq, Worker: j.l.cfg.Worker}
}

// usage is what the engine reported. What it does not report is estimated by
// what was asked and sent, because shares are settled by it.
func (j *job) usage(res engine.Result) wire.Usage {
	u := wire.Usage{Prompt: max(res.Usage.PromptTokens, 0), Cached: -1, Output: max(res.Usage.OutputTokens, 0)}
	if res.Usage.CachedKnown {
		u.Cached = max(res.Usage.CachedTokens, 0)
	}
	if !res.Usage.Known {
		u.Prompt, u.Output = int64(j.claim.Input), j.sent.Load()
	}
	return u
}
