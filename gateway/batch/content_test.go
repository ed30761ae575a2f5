package batch

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// A file is read to its end by a reader that takes longer than a call of JetStream
// may.
func TestSlowReader(t *testing.T) {
	t.Parallel()
	r := newRig(t, Limits{})
	const short = 10 * time.Millisecond
	text := strings.Repeat("x", 1<<17)
	f, err := r.store.PutContent(t.Context(), strings.NewReader(text))
	must(t, err)
	js, err := jetstream.New(r.nc, jetstream.WithDefaultTimeout(short))
	must(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	r.buckets().files, err = js.ObjectStore(ctx, filesBucket)
	must(t, err)
	file, err := r.store.Open(t.Context(), owner, f.ID)
	must(t, err)
	defer file.Close()
	call, over := context.WithTimeout(t.Context(), short)
	defer over()
	<-call.Done() // as long as a call may take
	data, err := io.ReadAll(file)
	if err != nil || string(data) != text {
		t.Errorf("%d bytes of %d: %v", len(data), len(text), err)
	}
}

// What was put of a file that is not taken is removed, whatever ends it.
func TestNotTaken(t *testing.T) {
	t.Parallel()
	errHungUp := errors.New("the client hung up")
	for name, tc := range map[string]struct {
		limits Limits
		end    error
		want   error
	}{
		"hung up":   {Limits{}, errHungUp, errHungUp},
		"too large": {Limits{FileBytes: 1 << 19}, io.EOF, ErrFileTooLarge},
		"full":      {Limits{AllFiles: 1 << 19}, io.EOF, ErrFull},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, tc.limits)
			r.buckets()
			ctx, cancel := context.WithCancel(t.Context())
			end := readerFunc(func([]byte) (int, error) { cancel(); return 0, tc.end })
			f, err := r.store.PutContent(ctx, io.MultiReader(strings.NewReader(strings.Repeat("x", 1<<20)), end))
			cancel()
			if !errors.Is(err, tc.want) {
				t.Errorf("%v; want %v", err, tc.want)
			}
			if n := r.stream("OBJ_" + filesBucket).State.Msgs; n != 0 {
				t.Errorf("%d pieces are left", n)
			}
			if err := r.store.Drop(ctx, f.ID); err != nil {
				t.Errorf("drop: %v", err)
			}
		})
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }
