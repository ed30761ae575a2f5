package drr

import (
	"math"
	"strings"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"
)

func TestClamping(t *testing.T) {
	for _, row := range []struct{ jump, want float64 }{
		{math.NaN(), 0}, {-3, 0}, {math.Inf(-1), 0}, {math.Inf(1), MaxJump}, {1e300, MaxJump}, {2.5, 2.5},
	} {
		for _, order := range []Order{FCFS, WSPT, EDF} {
			s := must([]Class{{Name: "a", Quantum: 1, Order: order}})
			e := &Entry{Seq: 1, Arrival: math.MinInt64, Deadline: math.MinInt64, Jump: row.jump, Raw: 5, Cached: 9}
			s.Enqueue(0, Shared, e)
			if e.Jump != row.want || e.Cached != 5 || e.Cost() != 1 || e.Uncached() != 0 {
				t.Errorf("jump %v: %+v, want jump %v, cached 5, cost 1", row.jump, e, row.want)
			}
			enqueue(s, 0, Shared, 2, 5)
			if first := s.Next(open); order != WSPT && first != e {
				t.Errorf("%v: entry %d went first, want the one from long ago", order, first.Seq)
			}
		}
	}
}

func TestVisitingLanes(t *testing.T) {
	s := oneClass()
	for i, target := range []Target{Shared, {1, AnyRank}, {1, 0}, {1, 0}, {2, 0}} {
		enqueue(s, 0, target, uint64(i), 1)
	}
	count := func(visit func(func(*Entry) bool)) (n int) {
		visit(func(*Entry) bool { n++; return true })
		return n
	}
	for _, row := range []struct {
		target Target
		want   int
	}{{Shared, 1}, {Target{1, AnyRank}, 1}, {Target{1, 0}, 2}, {Target{1, 7}, 0}, {Target{9, 0}, 0}} {
		if got := count(func(fn func(*Entry) bool) { s.EachIn(0, row.target, fn) }); got != row.want {
			t.Errorf("EachIn visited %d entries of %v, want %d", got, row.target, row.want)
		}
	}
	stopped := 0
	s.Each(0, func(*Entry) bool { stopped++; return stopped < 2 })
	if stopped != 2 {
		t.Errorf("Each went on to %d entries after it was told to stop", stopped)
	}
}

func TestRestorePassesOverWhatIsGone(t *testing.T) {
	s := must([]Class{{Name: "a", Quantum: 10}, {Name: "b", Quantum: 10}})
	enqueue(s, 1, Shared, 1, 40)
	s.Restore(State{Cursor: "a", Granted: true, Classes: []ClassState{{"a", 7, true}, {"b", 8, true}, {"gone", 9, false}}})
	want := State{Cursor: "b", Classes: []ClassState{{"b", 8, true}}}
	if diff := cmp.Diff(want, s.Snapshot()); diff != "" {
		t.Errorf("restored (-want +got):\n%s", diff)
	}
	if s.Backlogged(0) || !s.Backlogged(1) || s.Deficit(0) != 0 {
		t.Error("the empty class has credit or a backlog")
	}
}

func TestNewRefuses(t *testing.T) {
	ok := Class{Name: "ok", Quantum: 1}
	for _, row := range []struct {
		classes []Class
		want    string
	}{
		{nil, "no classes"},
		{[]Class{ok, {Quantum: 1}}, `class 1 "": name is empty`},
		{[]Class{ok, ok}, `class 1 "ok": name is taken`},
		{[]Class{{Name: "a"}}, `class 0 "a": quantum is 0, must be at least 1`},
		{[]Class{{Name: "a", Quantum: -5}}, "quantum is -5"},
		{[]Class{{Name: "a", Quantum: 1, Order: 9}}, "order is 9"},
		{[]Class{{Name: "a", Quantum: 1, Order: WSPT, Aging: math.NaN()}}, "aging is NaN"},
		{[]Class{{Name: "a", Quantum: 1, Order: WSPT, Aging: math.Inf(1), Rate: 1}}, "aging is +Inf"},
		{[]Class{{Name: "a", Quantum: 1, Aging: 1, Rate: 1}}, "order is fcfs: it needs wspt"},
		{[]Class{{Name: "a", Quantum: 1, Order: WSPT, Aging: 1}}, "rate is 0"},
		{[]Class{{Name: "a", Quantum: 1, Order: WSPT, Aging: 1, Rate: math.Inf(1)}}, "rate is +Inf"},
		{[]Class{{Name: "a", Quantum: 1, Weight: func(uint32) float64 { return 1 }}}, "it needs tenants"},
	} {
		if _, err := New(row.classes); err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("New(%v) says %v, want %q", row.classes, err, row.want)
		}
	}
}

func TestMisusePanics(t *testing.T) {
	s := oneClass()
	e := enqueue(s, 0, Shared, 1, 1)
	for name, misuse := range map[string]func(){
		"Enqueue twice": func() { s.Enqueue(0, Shared, e) },
		"Remove twice":  func() { s.Remove(&Entry{}) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s did not panic", name)
				}
			}()
			misuse()
		}()
	}
}

// TestSizes: a million entries wait in memory, a lane fits two cache lines, and a flow fills four.
func TestSizes(t *testing.T) {
	if got := unsafe.Sizeof(Entry{}); got > 72 {
		t.Errorf("an entry takes %d bytes, want at most 72", got)
	}
	if got := unsafe.Sizeof(lane{}); got > 128 {
		t.Errorf("a lane takes %d bytes, want at most 128", got)
	}
	if hot := unsafe.Offsetof(lane{}.flow); hot != 64 {
		t.Errorf("what every dispatch needs of a lane takes %d bytes, want 64", hot)
	}
	if got, at := unsafe.Sizeof(flow{}), unsafe.Offsetof(flow{}.shared); got != 256 || at != 64 {
		t.Errorf("a flow takes %d bytes and has its shared lane at %d, want 256 and 64", got, at)
	}
}
