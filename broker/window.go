package broker

import "math/bits"

// window knows which requests of a stretch of REQ are over and which of them are
// gone from the stream. It costs two bits for each sequence between the lowest
// unfinished request and the newest.
type window struct {
	first uint64   // multiple of 64; sequences below are gone
	low   uint64   // the lowest sequence that is not over
	next  uint64   // one above the newest sequence seen
	over  []uint64 // bit i: first + i is over
	gone  []uint64 // bit i: first + i is over, and deleted by itself
	loose int      // sequences at or above low that are over and not gone
}

func newWindow(from uint64) window {
	from = max(from, 1)
	w := window{first: from &^ 63, low: from, next: from}
	w.grow(from)
	w.over[0] = 1<<(from&63) - 1
	w.gone[0] = w.over[0]
	return w
}

func (w *window) grow(id uint64) {
	for w.first+64*uint64(len(w.over)) <= id {
		w.over, w.gone = append(w.over, 0), append(w.gone, 0)
	}
}

func (w *window) at(id uint64) (word, bit uint64) {
	return (id - w.first) / 64, 1 << (id & 63)
}

// see takes in the next request; the sequences that it skips hold none.
func (w *window) see(id uint64) {
	if id < w.next {
		return
	}
	w.skipTo(id)
	w.grow(id)
	w.next = id + 1
}

// skipTo says that the sequences from the newest seen up to next hold nothing.
func (w *window) skipTo(next uint64) {
	if next <= w.next {
		return
	}
	w.grow(next)
	for ; w.next < next; w.next++ {
		i, bit := w.at(w.next)
		w.over[i] |= bit
		w.gone[i] |= bit
	}
	w.settle()
}

// finish marks a request as over.
func (w *window) finish(id uint64) {
	if id < w.low || id >= w.next {
		return
	}
	i, bit := w.at(id)
	if w.over[i]&bit != 0 {
		return
	}
	w.over[i] |= bit
	w.loose++
	w.settle()
}

// settle moves low past what is over.
func (w *window) settle() {
	for w.low < w.next {
		i, _ := w.at(w.low)
		shift := w.low & 63
		run := uint64(bits.TrailingZeros64(^(w.over[i] >> shift)))
		if run == 0 {
			return
		}
		run = min(run, 64-shift, w.next-w.low)
		mask := (^uint64(0) >> (64 - run)) << shift
		w.loose -= bits.OnesCount64(w.over[i] &^ w.gone[i] & mask)
		w.low += run
	}
}

// scattered lists the requests above the lowest unfinished one that are over and
// still in the stream, at most most of them.
func (w *window) scattered(most int) []uint64 {
	var list []uint64
	start, _ := w.at(w.low)
	for i := start; i < uint64(len(w.over)) && len(list) < most; i++ {
		for word := w.over[i] &^ w.gone[i]; word != 0 && len(list) < most; word &= word - 1 {
			if id := w.first + 64*i + uint64(bits.TrailingZeros64(word)); id >= w.low {
				list = append(list, id)
			}
		}
	}
	return list
}

// kept counts the requests that are over and still in the stream.
func (w *window) kept() int {
	n := 0
	for i := range w.over {
		n += bits.OnesCount64(w.over[i] &^ w.gone[i])
	}
	return n
}

// deleted marks a request as gone that was deleted by itself.
func (w *window) deleted(id uint64) {
	if id < w.first || id >= w.next {
		return
	}
	i, bit := w.at(id)
	if w.gone[i]&bit == 0 && id >= w.low {
		w.loose--
	}
	w.gone[i] |= bit
}

// purged marks everything below a sequence as gone. A purge that was asked for
// before the window began says nothing new.
func (w *window) purged(below uint64) {
	if below <= w.first {
		return
	}
	words := (below - w.first) / 64
	if words > 0 {
		n := copy(w.over, w.over[words:])
		copy(w.gone, w.gone[words:])
		w.over, w.gone = w.over[:n], w.gone[:n]
		w.first += 64 * words
	}
	w.grow(below)
	w.gone[0] |= 1<<(below-w.first) - 1
}

// isGone reports whether the stream no longer holds a sequence. One above
// everything seen is not known to be gone.
func (w *window) isGone(id uint64) bool {
	if id < w.first {
		return true
	}
	if id >= w.next {
		return false
	}
	i, bit := w.at(id)
	return w.gone[i]&bit != 0
}
