package drr

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"testing"
	"time"
)

// splitmix64 is the generator that the benchmarks are defined with.
type splitmix64 uint64

func (s *splitmix64) next() uint64 {
	*s += 0x9e3779b97f4a7c15
	z := uint64(*s)
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

func open(int, Target, *Entry) Answer { return Open }

// when turns a condition into an answer.
func when(ok bool) Answer {
	if ok {
		return Open
	}
	return Shut
}

func must(classes []Class) *Scheduler {
	s, err := New(classes)
	if err != nil {
		panic(err)
	}
	return s
}

func oneClass() *Scheduler { return must([]Class{{Name: "only", Quantum: 1e6}}) }

// exactLanes queues n entries of cost 1 round robin over exact lanes.
func exactLanes(n, lanes int) *Scheduler {
	s := oneClass()
	entries := make([]Entry, n)
	for i := range entries {
		entries[i] = Entry{Seq: uint64(i), Arrival: int64(i), Raw: 1}
		s.Enqueue(0, Target{Worker: int32(i % lanes)}, &entries[i])
	}
	return s
}

// prebuilt times use, which does n operations, on 16 schedulers an iteration. It reads the clock itself, so
// that building them is not reported, yet counts towards the time that the benchmark takes; and it collects
// garbage between the iterations only, because what there is of it comes from building.
func prebuilt(b *testing.B, n int, build func() *Scheduler, use func(*Scheduler)) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	var timed time.Duration
	for range b.N {
		runtime.GC()
		var built [16]*Scheduler
		for i := range built {
			built[i] = build()
		}
		start := time.Now()
		for _, s := range built {
			use(s)
		}
		timed += time.Since(start)
	}
	b.ReportMetric(float64(timed.Nanoseconds())/float64(b.N*16*n), "ns/op")
}

func drain(s *Scheduler) {
	for s.Next(open) != nil {
	}
}

func BenchmarkPopOnceExact(b *testing.B) {
	odd := func(_ int, t Target, _ *Entry) Answer { return when(t.Worker&1 == 1) }
	for _, lanes := range []int{1, 8, 32, 128, 512, 1024} {
		b.Run(fmt.Sprint("lanes=", lanes), func(b *testing.B) {
			prebuilt(b, 1, func() *Scheduler { return exactLanes(lanes, lanes) }, func(s *Scheduler) { s.Next(odd) })
		})
	}
}

func BenchmarkDrainExact(b *testing.B) {
	for _, lanes := range []int{1, 8, 32, 128, 512} {
		b.Run(fmt.Sprint("lanes=", lanes), func(b *testing.B) {
			prebuilt(b, 4096, func() *Scheduler { return exactLanes(4096, lanes) }, drain)
		})
	}
}

func BenchmarkDrainOnePerLane(b *testing.B) {
	for _, lanes := range []int{8, 32, 128, 512, 1024} {
		b.Run(fmt.Sprint("lanes=", lanes), func(b *testing.B) {
			prebuilt(b, lanes, func() *Scheduler { return exactLanes(lanes, lanes) }, drain)
		})
	}
}

func BenchmarkDrainShared(b *testing.B) {
	for _, n := range []int{128, 1024, 4096} {
		b.Run(fmt.Sprint("n=", n), func(b *testing.B) {
			prebuilt(b, n, func() *Scheduler {
				s := oneClass()
				entries := make([]Entry, n)
				for i := range entries {
					entries[i] = Entry{Seq: uint64(i), Arrival: int64(i), Raw: 1}
					s.Enqueue(0, Shared, &entries[i])
				}
				return s
			}, drain)
		})
	}
}

// weighted is the ring of the steady benchmarks.
func weighted(classes int) *Scheduler {
	list := make([]Class, classes)
	for i := range list {
		list[i] = Class{Name: fmt.Sprint("c", i), Quantum: 1024 * int64(1+i%8)}
	}
	return must(list)
}

// steady keeps every class at as many entries in shared lanes, over a number of tenants.
type steady struct {
	s       *Scheduler
	rng     splitmix64
	seq     uint64
	tenants uint64
}

func newSteady(classes int, order Order) *steady {
	st := &steady{s: weighted(classes), rng: 42}
	for i := range st.s.classes {
		st.s.classes[i].Order = order
	}
	st.fill(classes, 10_000)
	return st
}

// fill queues n entries a class and runs until all has settled.
func (st *steady) fill(classes, n int) {
	entries := make([]Entry, classes*n)
	for i := range entries {
		if st.tenants > 0 {
			entries[i].Tenant = uint32(uint64(i/classes) % st.tenants)
		}
		st.put(i%classes, &entries[i])
	}
	for range 200_000 {
		st.op()
	}
}

func (st *steady) put(class int, e *Entry) {
	st.seq++
	e.Seq, e.Arrival, e.Raw = st.seq, int64(st.seq), uint32(1+st.rng.next()&8191)
	st.s.Enqueue(class, Shared, e)
}

func (st *steady) op() {
	e := st.s.Next(open)
	st.put(e.Class(), e)
}

func BenchmarkSteady(b *testing.B) {
	for _, classes := range []int{8, 64} {
		b.Run(fmt.Sprint("classes=", classes), func(b *testing.B) {
			st := newSteady(classes, FCFS)
			b.ReportAllocs()
			for b.Loop() {
				st.op()
			}
		})
	}
}

// BenchmarkSteadyWSPT is BenchmarkSteady where arrivals do not come in key order.
func BenchmarkSteadyWSPT(b *testing.B) {
	st := newSteady(8, WSPT)
	b.ReportAllocs()
	for b.Loop() {
		st.op()
	}
}

func BenchmarkHuge(b *testing.B) {
	for _, classes := range []int{1, 8, 64} {
		b.Run(fmt.Sprint("classes=", classes), func(b *testing.B) {
			list := make([]Class, classes)
			for i := range list {
				list[i] = Class{Name: fmt.Sprint("c", i), Quantum: 1}
			}
			s, seq := must(list), uint64(0)
			put := func(class int, e *Entry) {
				seq++
				e.Seq, e.Arrival, e.Raw = seq, int64(seq), 1e6
				s.Enqueue(class, Shared, e)
			}
			for i := range 4 * classes {
				put(i%classes, new(Entry))
			}
			b.ReportAllocs()
			for b.Loop() {
				e := s.Next(open)
				put(e.Class(), e)
			}
		})
	}
}
