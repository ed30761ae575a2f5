package arbiter

import (
	"fmt"
	"slices"

	"fairlead/wire"
)

// mostUnserved is how many models that no worker serves may have something in the
// system. Clients invent names; each has a ring, with queues and limits of its own,
// and every step looks at every ring.
const mostUnserved = 256

// crowded reports whether a model is to get no ring: nobody serves it, and there
// are enough of that kind. What a take-over finds is taken in nevertheless.
func (a *Arbiter) crowded(model string) bool {
	if a.found != nil || model == "" || a.rings[model] != nil || a.fleet.serves(model) {
		return false
	}
	unserved := 0
	for _, in := range a.order {
		if in.serving == 0 {
			unserved++
		}
	}
	return unserved >= mostUnserved
}

// crowdedOut says for what a request for such a model is refused at once.
func (a *Arbiter) crowdedOut(model string) (wire.Reason, string) {
	detail := fmt.Sprintf("%s: no worker serves %s, and %d such models are asked for already", wire.HeaderModel, quote(model), mostUnserved)
	if len(a.fleet.live) == 0 {
		return wire.NoWorker, detail
	}
	return wire.ModelNotFound, detail
}

func (f *fleet) serves(model string) bool {
	return slices.ContainsFunc(f.models, func(m wire.ModelStatus) bool { return m.Name == model })
}
