package agent

import (
	"context"
	"time"
)

// watch stands by a call of the engine until ctx ends, and ends it when nobody
// has listened for the grace. Chunks show by themselves whether they are heard;
// while none are sent, such as before the first token and for all of an answer
// that does not stream, it sends probes.
func (j *job) watch(ctx context.Context, end context.CancelCauseFunc, to sink) {
	grace := j.l.cfg.ListenGrace
	timer := time.NewTimer(j.hearing.next(time.Now(), grace))
	defer timer.Stop()
	for sent := int64(0); ; {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		now := time.Now()
		if n := j.sent.Load(); n != sent {
			sent = n
		} else if j.hearing.silent(now, grace) {
			end(errUnheard)
			return
		} else {
			to.probe()
		}
		timer.Reset(j.hearing.next(now, grace))
	}
}
