package batch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/nats-io/nats.go/jetstream"
)

// load reads what is written down of the lines, but for their results: all that the
// leader has, though a replica be asked that may be behind.
func (x *run) load(ctx context.Context) error {
	newest, err := x.Store.last(ctx, x.b.lines, x.id+".>")
	if err != nil && !errors.Is(err, ErrNotFound) {
		return err
	}
	w, err := x.b.lines.Watch(ctx, x.id+".>")
	if err != nil {
		return fmt.Errorf("read the lines of %s: %w", x.id, err)
	}
	defer func() { _ = w.Stop() }() // it ends with its connection as well
	x.mu.Lock()
	defer x.mu.Unlock()
	x.counts, x.states = Counts{}, map[int]state{}
	for seen := uint64(0); ; {
		select {
		case e := <-w.Updates():
			if e == nil { // that was all
				return x.all(seen, newest.Seq)
			}
			x.loaded(e)
			seen = max(seen, e.Revision())
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func (x *run) all(seen, newest uint64) error {
	if seen < newest {
		return fmt.Errorf("read the lines of %s: %w", x.id, errBehind)
	}
	return nil
}

func (x *run) loaded(e jetstream.KeyValueEntry) {
	n, err := strconv.Atoi(e.Key()[strings.LastIndexByte(e.Key(), '.')+1:])
	var st state
	if err != nil || json.Unmarshal(e.Value(), &st) != nil {
		return // nobody of ours wrote it
	}
	st.Out, st.revision = nil, e.Revision()
	x.states[n] = st
	if st.Done {
		x.count(st)
	}
}
