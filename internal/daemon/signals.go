package daemon

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"
)

// Causes of the contexts of [Signals].
var (
	ErrStop  = errors.New("told to stop")
	ErrAbort = errors.New("told to abort")
)

// Signals makes the two contexts of a daemon. stop ends at the first SIGINT or
// SIGTERM: take no more work, finish what there is. abort ends at the second
// one, or grace after the first (0: never by itself): leave at once. Both end
// with parent. The caller must call release when it is done; afterwards signals
// act as they do by default.
func Signals(parent context.Context, grace time.Duration) (stop, abort context.Context, release func()) {
	abort, cancelAbort := context.WithCancelCause(parent)
	stop, cancelStop := context.WithCancelCause(abort)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	var watcher sync.WaitGroup
	watcher.Go(func() {
		select {
		case <-signals:
			cancelStop(ErrStop)
		case <-abort.Done():
			return
		}
		select {
		case <-signals:
		case <-after(grace):
		case <-abort.Done():
		}
		cancelAbort(ErrAbort)
	})
	return stop, abort, func() {
		signal.Stop(signals)
		cancelAbort(context.Canceled)
		watcher.Wait()
	}
}

// after is ready when d has passed, never when d is 0.
func after(d time.Duration) <-chan time.Time {
	if d <= 0 {
		return nil
	}
	return time.After(d)
}
