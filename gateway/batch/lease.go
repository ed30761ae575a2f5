package batch

import (
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// errLost ends a run whose batch somebody else has.
var errLost = errors.New("another gateway runs the batch")

// lease is the right to run a batch, until the server forgets it.
type lease struct {
	store    *Store
	kv       jetstream.KeyValue
	id       string
	holder   string
	revision uint64
	life     time.Duration
}

// takeLease takes the lease of a batch that has none.
func (s *Store) takeLease(ctx context.Context, kv jetstream.KeyValue, id, holder string) (*lease, error) {
	status, err := kv.Status(ctx)
	if err != nil {
		return nil, err
	}
	l := &lease{store: s, kv: kv, id: id, holder: holder, life: status.TTL()}
	l.revision, err = kv.Create(ctx, id, []byte(holder))
	return l, err
}

// keep renews the lease until ctx ends. When that fails for too long, or somebody
// else has it, lose is called: a margin before the server's own clock ends it.
func (l *lease) keep(ctx context.Context, lose context.CancelCauseFunc) {
	tick := time.NewTicker(max(l.life/5, time.Millisecond))
	defer tick.Stop()
	good := time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		sent := time.Now()
		once, cancel := context.WithTimeout(ctx, l.life/5)
		revision, err := l.kv.Update(once, l.id, []byte(l.holder), l.revision)
		cancel()
		switch {
		case err == nil:
			l.revision, good = revision, sent
		case conflict(err) && l.taken(ctx), time.Since(good) > l.life*3/5:
			lose(errLost)
			return
		}
	}
}

// taken reports whether somebody else has the lease. A renewal whose answer was
// lost changed it as well.
func (l *lease) taken(ctx context.Context) bool {
	m, err := l.store.last(ctx, l.kv, l.id)
	if err != nil {
		return errors.Is(err, ErrNotFound)
	}
	if string(m.Data) == l.holder {
		l.revision = m.Seq
		return false
	}
	return true
}

// giveUpTimeout bounds the last word.
const giveUpTimeout = 2 * time.Second

// giveUp lets the next one have it at once.
func (l *lease) giveUp() {
	ctx, cancel := context.WithTimeout(context.Background(), giveUpTimeout)
	defer cancel()
	_ = l.kv.Delete(ctx, l.id, jetstream.LastRevision(l.revision)) // else the server forgets it
}
