package drr

import "math/bits"

// A bitset is a set of small numbers that finds its next element 64 at a time.
type bitset []uint64

func newBitset(n int) bitset { return make(bitset, (n+63)/64) }

func (b bitset) set(i int)   { b[i/64] |= 1 << (i % 64) }
func (b bitset) unset(i int) { b[i/64] &^= 1 << (i % 64) }

// next returns the smallest element that is at least i, or a number beyond every element.
func (b bitset) next(i int) int {
	word := i / 64
	if word >= len(b) {
		return len(b) * 64
	}
	if rest := b[word] >> (i % 64); rest != 0 {
		return i + bits.TrailingZeros64(rest)
	}
	for word++; word < len(b); word++ {
		if b[word] != 0 {
			return word*64 + bits.TrailingZeros64(b[word])
		}
	}
	return word * 64
}
