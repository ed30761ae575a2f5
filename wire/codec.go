package wire

import (
	"errors"
	"fmt"

	"github.com/vmihailenco/msgpack/v5"
)

// Version is the version of the binary messages that this code writes.
const Version = 1

// ErrVersion says that a message was written by a newer, incompatible version.
var ErrVersion = errors.New("message of a newer version")

// A message knows the version of its writer.
type message interface {
	kind() string
	version() *uint8
}

// Encode writes a binary message and stamps it with Version.
func Encode(m message) []byte {
	*m.version() = Version
	b, err := msgpack.Marshal(m)
	if err != nil {
		panic(fmt.Sprintf("wire: encoding a %s: %v", m.kind(), err)) // plain structs of ours: cannot fail
	}
	return b
}

// Decode reads a binary message. Its error names the kind; it wraps ErrVersion
// when the message is newer than this code.
func Decode(data []byte, m message) error {
	if err := checkShape(data); err != nil {
		return fmt.Errorf("decode %s: %w", m.kind(), err)
	}
	if err := msgpack.Unmarshal(data, m); err != nil {
		return fmt.Errorf("decode %s: %w", m.kind(), err)
	}
	switch v := *m.version(); {
	case v == 0:
		return fmt.Errorf("decode %s: field v is missing; want %d", m.kind(), Version)
	case v > Version:
		return fmt.Errorf("decode %s: version %d, this reader knows %d: %w", m.kind(), v, Version, ErrVersion)
	}
	return nil
}
