package batch

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/nats-io/nuid"
	"github.com/rs/zerolog"

	"fairlead/client"
)

// Prepare makes the request of a line. Its error is the client's to hear.
type Prepare func(endpoint string, body []byte, o *Options) (client.Request, error)

// Serves is an error for the client when nobody serves a model, nor did of late.
type Serves func(model string) error

// Describe tells an error in OpenAI's shape, with its status.
type Describe func(err error) (status int, body []byte, code, message string)

// Config is what a runner needs of its gateway.
type Config struct {
	Store    *Store
	Client   *client.Client
	Prepare  Prepare
	Serves   Serves
	Describe Describe
	Lines    func(ok bool)     // counts a line with a result; may be called concurrently
	Running  func(batches int) // tells how many batches run here
	Log      zerolog.Logger
}

// Runner runs batches. One goroutine, [Runner.Run], owns the table of those that
// run here.
type Runner struct {
	Config
	holder  string // names this runner
	kick    chan struct{}
	ended   chan string
	running map[string]bool
	pause   time.Time // nothing is looked for before
	wait    time.Duration
	runs    sync.WaitGroup
}

// NewRunner makes a runner; it does nothing before Run.
func NewRunner(cfg Config) *Runner {
	return &Runner{Config: cfg, holder: nuid.Next(), kick: make(chan struct{}, 1), ended: make(chan string), running: map[string]bool{}}
}

// Kick makes the runner look for new batches now.
func (r *Runner) Kick() {
	select {
	case r.kick <- struct{}{}:
	default:
	}
}

// Run runs batches until ctx ends, and gives up their leases so that another
// gateway goes on at once.
func (r *Runner) Run(ctx context.Context) {
	defer r.runs.Wait()
	look := time.NewTicker(max(r.Store.limits.Lease/5, time.Millisecond))
	defer look.Stop()
	for {
		r.look(ctx)
		r.Running(len(r.running))
		select {
		case <-look.C:
		case <-r.kick:
			r.pause = time.Time{}
		case id := <-r.ended:
			delete(r.running, id)
		case <-ctx.Done():
			for len(r.running) > 0 {
				delete(r.running, <-r.ended)
			}
			return
		}
	}
}

const (
	lookTimeout = 10 * time.Second // of one look for batches
	firstPause  = time.Second      // when it cannot be found out whether there are any
	lastPause   = time.Minute      // the same, after some tries
)

// look takes batches that nobody runs.
func (r *Runner) look(ctx context.Context) {
	ctx2, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	if len(r.running) >= r.Store.limits.Batches || time.Now().Before(r.pause) {
		return
	}
	exists, err := r.Store.exists(ctx2)
	if err != nil { // most likely without the rights to ask, or without NATS
		r.wait = min(max(2*r.wait, firstPause), lastPause)
		r.pause = time.Now().Add(r.wait)
		r.Log.Debug().Err(err).Msg("cannot look for batches")
		return
	}
	if r.wait = 0; !exists {
		return
	}
	b, err := r.Store.open(ctx2)
	if err != nil {
		r.Log.Debug().Err(err).Msg("cannot look for batches")
		return
	}
	ids, err := list(ctx2, b.records, activeKey("*"))
	if err != nil {
		r.Log.Debug().Err(err).Msg("cannot look for batches")
		return
	}
	for i := len(ids) - 1; i >= 0 && len(r.running) < r.Store.limits.Batches; i-- { // the oldest first
		id := ids[i]
		if r.running[id] {
			continue
		}
		l, err := r.Store.takeLease(ctx2, b.leases, id, r.holder)
		if err != nil {
			continue // somebody else has it, or the next look will show
		}
		r.running[id] = true
		r.runs.Go(func() {
			r.one(ctx, id, l)
			r.ended <- id
		})
	}
}

// one runs a batch for as long as its lease can be kept.
func (r *Runner) one(ctx context.Context, id string, l *lease) {
	held, lose := context.WithCancelCause(ctx)
	var keeper sync.WaitGroup
	keeper.Go(func() { l.keep(held, lose) })
	err := r.batch(held, id)
	if err != nil && ctx.Err() == nil && !errors.Is(err, errLost) {
		r.Log.Warn().Err(err).Str("batch", id).Msg("a batch is left, to be taken up again")
		sleep(ctx, busyWait) // what is in its way is not gone at once
	}
	lose(nil)
	keeper.Wait()
	l.giveUp()
}
