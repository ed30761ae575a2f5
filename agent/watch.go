package agent

import (
	"context"
	"time"
)

// watch stands by a call of the engine until ctx ends, and ends it when nobody
// has listened for the grace. Chunks show by themselves whether they are heard;
// while none are sent, such as before the first token and for all of an answer
// that does not stream, it sends probes. Of such an answer it also reports when
// the prefill should have ended.
func (j *job) watch(ctx context.Context, end context.CancelCauseFunc, to sink, stream bool) {
	grace := j.l.cfg.ListenGrace
	timer := time.NewTimer(j.hearing.next(time.Now(), grace))
	defer timer.Stop()
	var computed <-chan time.Time
	if j.prefill > 0 && !stream {
		computed = time.After(j.prefill)
	}
	for sent := int64(0); ; {
		select {
		case <-ctx.Done():
			return
		case <-computed:
			j.report(report{kind: prefilled})
			continue
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
