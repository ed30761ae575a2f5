package arbiter

import (
	"errors"
	"fmt"

	"fairlead/wire"
)

// Overload says above what load a worker gets nothing more, whatever slots it
// has: by its own heartbeats, each measure on its own, 0 for off. What a worker
// does not report is neither above nor below.
type Overload struct {
	KV            float64 // fraction of the engine's KV cache in use, 0 to 1
	Waiting       int64   // requests that wait inside the engine
	PrefillTokens int64   // uncached tokens in the engine without a first token
}

// Validate names every field that is out of range.
func (o Overload) Validate() error {
	var errs []error
	if !(o.KV >= 0 && o.KV <= 1) { // so written because NaN is not
		errs = append(errs, fmt.Errorf("overload: KV is %v; want a fraction from 0 (off) to 1", o.KV))
	}
	if o.Waiting < 0 {
		errs = append(errs, fmt.Errorf("overload: Waiting is %d; want a number of requests, or 0 for off", o.Waiting))
	}
	if o.PrefillTokens < 0 {
		errs = append(errs, fmt.Errorf("overload: PrefillTokens is %d; want a number of tokens, or 0 for off", o.PrefillTokens))
	}
	return errors.Join(errs...)
}

func (o Overload) exceeded(h *wire.Heartbeat) bool {
	return o.KV > 0 && h.EngineKV != nil && *h.EngineKV > o.KV ||
		o.Waiting > 0 && h.EngineWaiting != nil && int64(*h.EngineWaiting) > o.Waiting ||
		o.PrefillTokens > 0 && h.PrefillTokens > uint64(o.PrefillTokens)
}

// judgeLoad takes over what a heartbeat says about the load of its worker. Either
// change may let somebody go: with a busy_worker_ratio fewer eligible workers may
// be fewer busy ones.
func (a *Arbiter) judgeLoad(w *worker, h *wire.Heartbeat) {
	was := w.overloaded
	w.overloaded = a.cfg.Overload.exceeded(h)
	if was != w.overloaded {
		a.recheck(w)
	}
}
