package arbiter

import "fairlead/wire"

// speed is how fast a worker computes prompts: as it declares, else as was
// learned here from what it did, else as its agent learned, which knows more than
// a leader of some seconds; tokens a second on one rank, 0 unknown.
func (w *worker) speed() float64 {
	if w.declared > 0 {
		return w.declared
	}
	if learned := w.learned.perSecond(); learned > 0 {
		return learned
	}
	return w.told
}

// pace is tokens over time, of which the older counts for less.
type pace struct{ tokens, seconds float64 }

// paceMemory is how many requests a pace looks back on, about.
const paceMemory = 32

func (p *pace) add(tokens, ms int64) {
	const keep = 1 - 1.0/paceMemory
	p.tokens = p.tokens*keep + float64(tokens)
	p.seconds = p.seconds*keep + float64(ms)/1000
}

func (p *pace) perSecond() float64 {
	if p.seconds == 0 {
		return 0
	}
	return p.tokens / p.seconds
}

// learn takes in how long a worker needed for the first token of a request. The
// sums of tokens and of times are compared, so that long prompts, which tell most
// about the speed, count most.
func (a *Arbiter) learn(r *request, d *wire.Done) {
	w := a.fleet.byName[d.Worker]
	if r == nil || w == nil || w.incarnation != d.Incarnation || d.Status != wire.StatusOK || !showsFirst(d) {
		return
	}
	tokens := r.Cost()
	if u := d.Usage; u.Prompt > 0 && u.Cached >= 0 {
		tokens = max(1, bound(u.Prompt)-bound(u.Cached))
	}
	w.learned.add(tokens, d.FirstMS)
	if w.declared == 0 {
		a.speedChanged(w)
	}
}

// tokensPerMS is faster than any engine writes one answer.
const tokensPerMS = 5

// showsFirst reports whether the time to the first token is the prompt's alone:
// an answer that comes as a whole shows its first token with its last.
func showsFirst(d *wire.Done) bool {
	u, after := d.Usage, d.TotalMS-d.FirstMS
	switch {
	case d.FirstMS <= 0:
		return false
	case u.Prompt <= 0 && u.Output <= 0: // unknown
		return after*20 >= d.FirstMS
	}
	return u.Output <= 1 || after*tokensPerMS >= u.Output
}

// speedChanged makes the rings of a worker look for their fastest one again.
func (a *Arbiter) speedChanged(w *worker) {
	for _, in := range a.order {
		if in.model == "" || w.serves(in.model) {
			in.fastest = unknownSpeed
		}
	}
}

// unknownSpeed says that ring.fastest is to be found again.
const unknownSpeed = -1

// fastestFor is the speed of the fastest worker that may get a request, 0 unknown.
func (a *Arbiter) fastestFor(in *ring, r *request) float64 {
	switch {
	case r.ask != nil && r.ask.pin != nil:
		return r.ask.pin.speed()
	case r.picky():
		return a.fastestOf(in, r)
	case in.fastest == unknownSpeed:
		in.fastest = a.fastestOf(in, r)
	}
	return in.fastest
}

func (a *Arbiter) fastestOf(in *ring, r *request) float64 {
	fastest := 0.0
	for _, w := range a.fleet.live {
		if suits(w, in, r) {
			fastest = max(fastest, w.speed())
		}
	}
	return fastest
}
