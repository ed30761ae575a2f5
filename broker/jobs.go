package broker

import (
	"context"
	"sync"

	"golang.org/x/sync/errgroup"
)

const (
	// jobWorkers bounds how many jobs run at once: they are store operations, which
	// one connection carries well in dozens.
	jobWorkers = 32
	// deadWorkers is the same for dead letters, which may have to wait until an operator
	// makes room for them.
	deadWorkers = 4
)

// jobs runs what takes several store operations, outside the loop. Adding never
// blocks; the arbiter bounds what is under way.
type jobs struct {
	mu    sync.Mutex
	queue []func(context.Context)
	wake  chan struct{}
}

func newJobs() *jobs { return &jobs{wake: make(chan struct{}, jobWorkers)} }

func (j *jobs) add(fn func(context.Context)) {
	j.mu.Lock()
	j.queue = append(j.queue, fn)
	j.mu.Unlock()
	select {
	case j.wake <- struct{}{}:
	default:
	}
}

func (j *jobs) take() func(context.Context) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if len(j.queue) == 0 {
		return nil
	}
	fn := j.queue[0]
	j.queue[0] = nil
	j.queue = j.queue[1:]
	return fn
}

// start runs the workers until the context ends.
func (j *jobs) start(ctx context.Context, g *errgroup.Group, workers int) {
	for range workers {
		g.Go(func() error {
			for {
				if fn := j.take(); fn != nil && ctx.Err() == nil {
					fn(ctx)
					continue
				}
				select {
				case <-ctx.Done():
					return nil
				case <-j.wake:
				}
			}
		})
	}
}
