package wire

import (
	"errors"
	"fmt"
)

// maxDepth is how deep values may lie in one another; our messages need three.
const maxDepth = 16

var errShort = errors.New("it ends before all that it announces")

// checkShape walks the first value of data and finds what cannot be: a string, an array or
// a map that announces more than follows, or values that lie too deep in one another. The
// msgpack library makes room for what is announced before it looks whether it is there, so
// that without this a heartbeat of ten bytes could take all memory of a broker.
func checkShape(data []byte) error {
	var due [maxDepth]uint64 // values that are still to come, by depth
	due[0] = 1
	for depth := 0; depth >= 0; {
		if due[depth] == 0 {
			depth--
			continue
		}
		due[depth]--
		size, items, ok := shape(data)
		if !ok || size > uint64(len(data)) || items > uint64(len(data))-size {
			return errShort
		}
		data = data[size:]
		if items == 0 {
			continue
		}
		if depth++; depth == maxDepth {
			return fmt.Errorf("values lie more than %d deep in one another", maxDepth)
		}
		due[depth] = items
	}
	return nil
}

// shape reads the head of the first value of data: the bytes that the value takes without
// its items, and how many items lie in it. It is false when the head itself is cut off.
func shape(data []byte) (size, items uint64, ok bool) {
	if len(data) == 0 {
		return 0, 0, false
	}
	switch c := data[0]; {
	case c <= 0x7f || c >= 0xe0: // a small integer
		return 1, 0, true
	case c <= 0x8f: // a small map
		return 1, 2 * uint64(c&0x0f), true
	case c <= 0x9f: // a small array
		return 1, uint64(c & 0x0f), true
	case c <= 0xbf: // a short string
		return 1 + uint64(c&0x1f), 0, true
	}
	form := forms[data[0]-0xc0]
	if len(data) <= form.length {
		return 0, 0, false
	}
	var n uint64
	for _, b := range data[1 : 1+form.length] {
		n = n<<8 | uint64(b)
	}
	size = 1 + uint64(form.length) + form.fixed
	if form.items == 0 {
		return size + n, 0, true
	}
	return size, n * form.items, true
}

// forms are the values that begin with 0xc0 and above: the bytes of their length, the
// bytes that always follow it, and the items to each unit of length (none: it counts bytes).
// The table is that of the MessagePack specification.
var forms = [0x20]struct {
	length       int
	fixed, items uint64
}{
	0x04: {length: 1}, 0x05: {length: 2}, 0x06: {length: 4}, // binary
	0x07: {length: 1, fixed: 1}, 0x08: {length: 2, fixed: 1}, 0x09: {length: 4, fixed: 1}, // extension
	0x0a: {fixed: 4}, 0x0b: {fixed: 8}, // floating point
	0x0c: {fixed: 1}, 0x0d: {fixed: 2}, 0x0e: {fixed: 4}, 0x0f: {fixed: 8}, // unsigned
	0x10: {fixed: 1}, 0x11: {fixed: 2}, 0x12: {fixed: 4}, 0x13: {fixed: 8}, // signed
	0x14: {fixed: 2}, 0x15: {fixed: 3}, 0x16: {fixed: 5}, 0x17: {fixed: 9}, 0x18: {fixed: 17}, // extension of a set size
	0x19: {length: 1}, 0x1a: {length: 2}, 0x1b: {length: 4}, // string
	0x1c: {length: 2, items: 1}, 0x1d: {length: 4, items: 1}, // array
	0x1e: {length: 2, items: 2}, 0x1f: {length: 4, items: 2}, // map
}
