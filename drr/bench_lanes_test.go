package drr

import "testing"

// fleet is 8 classes over the exact lanes of 1,000 workers, 300 of them blocked.
type fleet struct {
	s       *Scheduler
	rng     splitmix64
	seq     uint64
	blocked []int32
	open    []int32
	closed  []bool
	gate    Gate
}

func newFleet() *fleet {
	const workers = 1000
	f := &fleet{s: weighted(8), rng: 42, closed: make([]bool, workers)}
	f.gate = func(_ int, t Target, _ *Entry) Answer { return when(!f.closed[t.Worker]) }
	for w := range int32(workers) {
		if f.closed[w] = w%10 < 3; f.closed[w] {
			f.blocked = append(f.blocked, w)
		} else {
			f.open = append(f.open, w)
		}
	}
	entries := make([]Entry, 8*workers*4)
	for i := range entries {
		f.put(i%8, Target{Worker: int32(i / 8 % workers)}, &entries[i])
	}
	return f
}

func (f *fleet) put(class int, t Target, e *Entry) {
	f.seq++
	e.Seq, e.Arrival, e.Raw = f.seq, int64(f.seq), uint32(1+f.rng.next()&8191)
	f.s.Enqueue(class, t, e)
}

func (f *fleet) op() {
	e := f.s.Next(f.gate)
	f.put(e.Class(), e.Target(), e)
}

func (f *fleet) toggle() {
	r := f.rng.next()
	i, j := (r&0xffffffff)%300, (r>>32)%700
	f.blocked[i], f.open[j] = f.open[j], f.blocked[i]
	f.closed[f.blocked[i]], f.closed[f.open[j]] = true, false
	f.s.Recheck(f.open[j])
}

func BenchmarkLanesToggle(b *testing.B) {
	f := newFleet()
	for range 200_000 {
		f.op()
		f.toggle()
	}
	b.ReportAllocs()
	for b.Loop() {
		f.op()
		f.toggle()
	}
}

func BenchmarkLanesStatic(b *testing.B) {
	f := newFleet()
	for range 200_000 {
		f.op()
	}
	b.ReportAllocs()
	for b.Loop() {
		f.op()
	}
}
