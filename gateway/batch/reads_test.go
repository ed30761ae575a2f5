package batch

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/nats-io/nats.go/jetstream"
)

// What was just written is seen, though the replica that answers have nothing.
func TestReplicaBehind(t *testing.T) {
	t.Parallel()
	r := newRig(t, Limits{})
	ctx := t.Context()
	x, rec := r.held(3, Finalizing, Completed)
	r.behind.Store(true)
	if _, err := r.store.Batch(ctx, owner, rec.ID); err != nil {
		t.Errorf("the batch: %v", err)
	}
	if _, err := r.store.File(ctx, owner, rec.Input); err != nil {
		t.Errorf("its input: %v", err)
	}
	if _, err := r.store.check(ctx, &rec); !errors.Is(err, errBehind) {
		t.Errorf("the content: %v; want no word that the file is gone", err)
	}
	for n := 1; n <= 3; n++ {
		r.done(x, n)
	}
	if st, err := x.stored(ctx, 2); err != nil || !st.Done {
		t.Errorf("a line: %+v, %v", st, err)
	}
	r.behind.Store(false)
	rec, err := x.finalise(ctx, rec)
	must(t, err)
	if rec.Status != Completed || rec.Counts != (Counts{Total: 3, Completed: 3}) {
		t.Errorf("the batch ended as %+v", rec)
	}
}

// A line without a result sends a batch back to it, rather than into neither file.
func TestUnfinishedLine(t *testing.T) {
	t.Parallel()
	r := newRig(t, Limits{})
	ctx := t.Context()
	x, rec := r.held(3, Finalizing, Completed)
	r.done(x, 1)
	r.done(x, 3)
	rec, err := x.finalise(ctx, rec)
	must(t, err)
	if rec.Status != InProgress || rec.Ending != "" || rec.Output != "" {
		t.Errorf("with a line that has no result: %+v", rec)
	}
	x.states[2] = state{Done: true}
	if _, err := x.stored(ctx, 2); !errors.Is(err, errBehind) {
		t.Errorf("a result that the store has forgotten: %v", err)
	}
}

// The results of a batch outlive its input.
func TestInputGone(t *testing.T) {
	t.Parallel()
	r := newRig(t, Limits{})
	ctx := t.Context()
	for ending, want := range map[Status]struct {
		counts Counts
		code   string
	}{
		Completed: {Counts{Total: 3, Completed: 2, Failed: 1}, "file_not_found"},
		Expired:   {Counts{Total: 3, Completed: 2, Failed: 1}, "batch_expired"},
		Cancelled: {Counts{Total: 3, Completed: 2}, ""},
	} {
		x, rec := r.held(3, Finalizing, ending)
		r.done(x, 1)
		r.done(x, 3)
		if err := r.store.DeleteFile(ctx, owner, rec.Input); !errors.Is(err, ErrInUse) {
			t.Errorf("delete the input of a batch that runs: %v", err)
		}
		must(t, r.buckets().records.Purge(ctx, fileKey(owner, rec.Input))) // it expires
		must(t, r.store.Drop(ctx, rec.Input))
		rec, err := x.finalise(ctx, rec)
		must(t, err)
		good, bad := r.content(rec.Output), r.content(rec.Errors)
		if rec.Status != ending || rec.Counts != want.counts || strings.Count(good, "\n") != 2 || !strings.Contains(good, `"c3"`) {
			t.Errorf("%+v with %s", rec, good)
		}
		if want.code != "" && !strings.Contains(bad, want.code) || want.code == "" && bad != "" {
			t.Errorf("%s: the errors are %q; want %s", ending, bad, want.code)
		}
		if err := r.store.DeleteFile(ctx, owner, rec.Output); err != nil {
			t.Errorf("delete the output: %v", err)
		}
	}
}

// What an old holder of a batch writes late does not replace a result.
func TestLateNote(t *testing.T) {
	t.Parallel()
	r := newRig(t, Limits{})
	ctx := t.Context()
	x, _ := r.held(1, InProgress, "")
	old, late := asking{n: 1, state: state{ID: 7}}, asking{n: 1, state: state{ID: 8}}
	x.note(ctx, &old)
	must(t, x.load(ctx))
	next := asking{n: 1, state: x.state(1)}
	if next.state.ID != 7 || next.state.revision == 0 {
		t.Errorf("loaded: %+v", next.state)
	}
	x.finish(ctx, &next, state{Done: true, OK: true})
	x.note(ctx, &old)
	x.note(ctx, &late)
	if st, err := x.written(ctx, 1); err != nil || !st.Done {
		t.Errorf("after a late id: %+v, %v", st, err)
	}
	x.finish(ctx, &old, state{Done: true})
	if st, err := x.written(ctx, 1); err != nil || !st.OK {
		t.Errorf("after a late result: %+v, %v", st, err)
	}
	if got := x.counted(); got.Completed != 2 || got.Failed != 0 { // this test's run is both holders
		t.Errorf("counted: %+v", got)
	}
}

// A runner that meets a batch between its mark and its record waits for it.
func TestSlowCreate(t *testing.T) {
	t.Parallel()
	r := newRig(t, Limits{})
	ctx := t.Context()
	records, id := r.buckets().records, "batch_1"
	_, err := records.Put(ctx, activeKey(id), []byte(owner))
	must(t, err)
	r.runner(Config{})
	r.until("a runner has looked for the record", func() bool {
		_, asked := r.asked.Load(`{"last_by_subj":"$KV.GATEWAY.` + batchKey(owner, id) + `"}`)
		return asked
	})
	_, err = records.Create(ctx, batchKey(owner, id), encode(Batch{ID: id, Owner: owner, Input: "file-1", Status: Validating}))
	must(t, err)
	r.until("the batch has ended", func() bool {
		b, err := r.store.Batch(ctx, owner, id)
		must(t, err)
		return b.Status == Failed
	})
	r.until("its mark is gone", func() bool {
		_, err := records.Get(ctx, activeKey(id))
		return errors.Is(err, jetstream.ErrKeyNotFound)
	})
}

// Of an input no more is kept than a batch may have.
func TestInputBounds(t *testing.T) {
	t.Parallel()
	r := newRig(t, Limits{Lines: 3, LineBytes: 200 << 10})
	ok := `{"custom_id":"%s","method":"POST","url":"/v1/embeddings","body":{"model":"m","input":"` + strings.Repeat("x", 100<<10) + `"}}` + "\n"
	long := strings.Repeat("y", 300<<10) + "\n"
	for name, tc := range map[string]struct {
		text  string
		total int
		want  string
	}{
		"good":      {fmt.Sprintf(ok+"\n"+ok+ok, "a", "b", "c"), 3, "[]"},
		"long":      {fmt.Sprintf(ok+long+ok, "a", "b"), 3, "[line_too_long 2]"},
		"too many":  {fmt.Sprintf(ok+ok+ok+ok+ok, "a", "b", "c", "d", "e"), 4, "[too_many_lines 0]"},
		"no ending": {strings.TrimSpace(long), 1, "[line_too_long 1]"},
	} {
		f, err := r.store.PutContent(t.Context(), strings.NewReader(tc.text))
		must(t, err)
		in, err := r.store.check(t.Context(), &Batch{Owner: owner, Input: f.ID, Endpoint: "/v1/embeddings"})
		must(t, err)
		said := []any{}
		for _, p := range in.problems {
			said = append(said, p.Code, p.Line)
		}
		if got := fmt.Sprint(said); got != tc.want || in.total != tc.total || len(in.ids) > 3 {
			t.Errorf("%s: %s with %d lines; want %s with %d", name, got, in.total, tc.want, tc.total)
		}
	}
}

// Lines that were written down are loaded, or it is said that they were not.
func TestLoadBehind(t *testing.T) {
	t.Parallel()
	r := newRig(t, Limits{})
	x, _ := r.held(2, InProgress, "")
	r.done(x, 1)
	must(t, x.load(t.Context()))
	if !x.state(1).Done || x.counted().Completed != 1 {
		t.Errorf("loaded: %+v", x.states)
	}
	if err := x.all(4, 5); !errors.Is(err, errBehind) {
		t.Errorf("the newest line is missing: %v", err)
	}
}
