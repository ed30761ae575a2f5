package cli_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fairlead/trace"
	"fairlead/wire"
)

// TestRecord records a request that is asked, handed out and answered, until it is
// interrupted; then sim run takes the file.
func TestRecord(t *testing.T) {
	r := newRig(t)
	out := filepath.Join(t.TempDir(), "rec.jsonl")
	ctx, interrupt := context.WithCancel(r.ctx)
	defer interrupt()
	errs := &buffer{}
	ended := make(chan run, 1)
	go func() {
		ended <- executeWith(ctx, errs, "", "record", "--out", out, "--nats-url", r.url, "--namespace", "blue")
	}()
	r.eventually("it listens", func() bool { return strings.Contains(errs.String(), "recording\n") })
	const secret = "prompt that nobody may read"
	r.publish(r.store.Names.Req("premium"), wire.Header{wire.HeaderInputTokens: {"512"}, wire.HeaderTenant: {"a"}}, `{"prompt":"`+secret+`"}`)
	r.eventually("the request is stored", func() bool {
		_, err := r.store.LeaderLast(r.ctx, r.store.Names.StreamREQ(), r.store.Names.Req("premium"))
		return err == nil
	})
	last, err := r.store.LeaderLast(r.ctx, r.store.Names.StreamREQ(), r.store.Names.Req("premium"))
	must(t, err)
	beat := wire.Heartbeat{Worker: "gpu-1", Incarnation: 1, Models: []string{"m"}, Ranks: 1, Slots: 2}
	claim := wire.Claim{ID: last.Seq, Attempt: 1, Epoch: 1, Class: "premium", Input: 512}
	done := wire.Done{ID: last.Seq, Attempt: 1, Worker: "gpu-1", Status: wire.StatusOK, FirstMS: 1, TotalMS: 1, Usage: wire.Usage{Prompt: 512, Cached: -1, Output: 7}}
	r.publish(r.store.Names.Load("gpu-1"), nil, string(wire.Encode(&beat)))
	r.publish(r.store.Names.Work("gpu-1", 1), nil, string(wire.Encode(&claim)))
	r.publish(r.store.Names.Done("gpu-1"), nil, string(wire.Encode(&done)))
	r.eventually("the line is written", func() bool {
		b, err := os.ReadFile(out)
		return err == nil && strings.Contains(string(b), `"output":7`)
	})
	interrupt()
	if got := <-ended; got.code != 0 || !strings.Contains(got.err, "1 requests recorded, 0 of them open") {
		t.Fatalf("%+v", got)
	}
	text, err := os.ReadFile(out)
	must(t, err)
	if strings.Contains(string(text), secret) {
		t.Error("the recording holds the prompt")
	}
	rec, err := trace.ReadRecording(strings.NewReader(string(text)))
	must(t, err)
	q := rec.Requests[0]
	if q.Class != "premium" || q.Tenant != "a" || q.Input != 512 || q.Output != 7 || len(q.Attempts) != 1 || q.Attempts[0].EndNS < q.AtNS || len(rec.Workers) != 1 {
		t.Errorf("%+v", rec)
	}
	sim := execute(r.ctx, "", "sim", "run", "--policy", samplePolicy, "--trace", out, "--fleet", "recorded")
	if sim.code != 0 || !strings.Contains(sim.out, "1 × 2 slots") {
		t.Errorf("%+v", sim)
	}
	again := r.run("", "record", "--out", out)
	if again.code != 1 || !strings.Contains(again.err, "--out: open "+out) {
		t.Errorf("it wrote over a file: %+v", again)
	}
}

func TestRecordRefuses(t *testing.T) {
	for args, want := range map[string]string{"": "--out: missing", "--out x --for -1s": "--for -1s; want"} {
		if r := execute(t.Context(), "", append([]string{"record"}, strings.Fields(args)...)...); r.code != 2 || !strings.Contains(r.err, want) {
			t.Errorf("%s: %+v", args, r)
		}
	}
}

// eventually waits for something to become true.
func (r *rig) eventually(what string, right func() bool) {
	r.t.Helper()
	pause := time.NewTicker(5 * time.Millisecond)
	defer pause.Stop()
	for !right() {
		select {
		case <-pause.C:
		case <-r.ctx.Done():
			r.t.Fatalf("%s: never", what)
		}
	}
}
