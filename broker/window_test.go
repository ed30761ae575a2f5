package broker

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// oracle is a window as sets of sequences.
type oracle struct {
	from, next uint64
	over, gone map[uint64]bool
}

func (o *oracle) low() uint64 {
	id := o.from
	for id < o.next && o.over[id] {
		id++
	}
	return id
}

func (o *oracle) scattered() []uint64 {
	var list []uint64
	for id := o.low(); id < o.next; id++ {
		if o.over[id] && !o.gone[id] {
			list = append(list, id)
		}
	}
	return list
}

// TestWindow compares the bitmaps with sets, over random streams with holes.
func TestWindow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		from := rapid.Uint64Range(1, 300).Draw(t, "from")
		w := newWindow(from)
		o := oracle{from: from, next: from, over: map[uint64]bool{}, gone: map[uint64]bool{}}
		t.Repeat(map[string]func(*rapid.T){
			"see": func(t *rapid.T) {
				id := o.next + rapid.Uint64Range(0, 70).Draw(t, "skip")
				for s := o.next; s < id; s++ {
					o.over[s], o.gone[s] = true, true
				}
				o.next = id + 1
				w.see(id)
			},
			"skip": func(t *rapid.T) {
				next := o.next + rapid.Uint64Range(0, 70).Draw(t, "to")
				for ; o.next < next; o.next++ {
					o.over[o.next], o.gone[o.next] = true, true
				}
				w.skipTo(next)
			},
			"finish": func(t *rapid.T) {
				if o.next == from {
					t.Skip("nothing seen")
				}
				id := rapid.Uint64Range(o.from, o.next-1).Draw(t, "id")
				o.over[id] = true
				w.finish(id)
			},
			"delete scattered": func(*rapid.T) {
				for _, id := range w.scattered(5) {
					o.gone[id] = true
					w.deleted(id)
				}
			},
			"purge": func(*rapid.T) {
				for id := o.from; id < o.low(); id++ {
					o.gone[id] = true
				}
				w.purged(w.low)
			},
			"": func(t *rapid.T) {
				if w.low != o.low() {
					t.Fatalf("low is %d, want %d", w.low, o.low())
				}
				want := o.scattered()
				if got := w.scattered(1 << 20); !slices.Equal(got, want) {
					t.Fatalf("scattered: %v, want %v", got, want)
				}
				if w.loose != len(want) {
					t.Fatalf("loose is %d, want %d", w.loose, len(want))
				}
				for id := o.from; id < o.next+3; id++ {
					if got := w.isGone(id); got != o.gone[id] {
						t.Fatalf("isGone(%d) = %v, want %v", id, got, !got)
					}
				}
				if !w.isGone(from - 1) {
					t.Fatalf("what lies below the stream's first message is gone")
				}
			},
		})
	})
}

// The cleaner starts before recovery knows where REQ begins: a purge of its first
// moment may be answered when the window has long been somewhere else.
func TestWindowIgnoresAPurgeOfBeforeItBegan(t *testing.T) {
	w := newWindow(1000)
	w.see(1000)
	w.purged(1)
	if w.isGone(1000) || !w.isGone(999) {
		t.Errorf("gone: 1000 %t, 999 %t; want only what lies below the window", w.isGone(1000), w.isGone(999))
	}
	if c := newCleaner(nil); c.reqs.low > c.purged {
		t.Error("a new cleaner wants to purge before it knows where REQ begins")
	}
}
