package engine

import (
	"context"
	"errors"
	"time"
)

// Loader is an engine that can tell how busy it is. An adapter implements it when
// its engine has something to say; its absence, or an error, means unknown, which
// is neither idle nor full.
type Loader interface {
	// Load asks the engine. [ErrNoLoad] says that it never tells. It may be called concurrently with everything else.
	Load(ctx context.Context) (Load, error)
}

// ErrNoLoad says that this kind of engine never tells its load.
var ErrNoLoad = errors.New("this kind of engine does not tell its load")

// Load is what an engine says of itself. Nil, 0 and "" are unknown.
type Load struct {
	// At is when the engine was asked; what it says may be as old.
	At time.Time
	// Running and Waiting are requests inside the engine, of all its ranks.
	Running, Waiting *uint32
	// KV is the fraction of the KV cache in use, 0 to 1; of several ranks the mean.
	KV *float64
	// BlockTokens is the size of a KV block in tokens, Blocks their number in all ranks.
	BlockTokens, Blocks int64
	// Slots is how many requests the engine works on at once, where that is fixed.
	Slots int
	// Context is the longest sequence in tokens, VRAM the memory of the loaded
	// models in bytes.
	Context, VRAM int64
	// Version is the engine's own, as it spells it.
	Version string
}
